"""A wallet service on the asset ledger: the smallest back end that moves money safely.

    python3 wallet.py --write http://127.0.0.1:8080 --read http://127.0.0.1:8081 --listen 127.0.0.1:9000

    POST /users/ada                                      opens a wallet
    POST /users/ada/deposits  {"id":"d1","amount":"12.50"}   money comes in from outside
    POST /payments  {"id":"p1","from":"ada","to":"bo","amount":"5.00"}
    GET  /users/ada                                      {"user":"ada","balance":"7.50"}
    GET  /users/ada/history                              newest first

The idempotency key of a deposit or payment contains its id: a client that got no response can safely send the same request again.
"""

import argparse
import json
import re
from decimal import Decimal, InvalidOperation as NotANumber
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import ledger as lib
from ledger import Ledger, op

CURRENCY, CENTS = "EUR", 2


class Wallets:
    def __init__(self, ledger):
        self.ledger = ledger
        try:
            ledger.commit([op("RegisterClass", request={"name": "Euro", "code": CURRENCY, "decimals": CENTS})],
                          key="wallet-service/currency")
        except lib.NameTaken:
            pass  # another program has registered it

    def open(self, user):
        self.ledger.commit([op("CreateContainer", kind="Standard", name=wallet(user))], key="wallet-service/open/" + user)
        return {"user": user, "balance": show(0)}

    def deposit(self, user, id, amount):
        done = self.ledger.commit([op("AddFungible", container_id=wallet(user), class_id=CURRENCY, key=0,
                                      quantity=parse(amount))], key="deposit/" + id)
        return {"id": id, "commit": done["global_seq"]}

    def pay(self, id, payer, payee, amount):
        done = self.ledger.commit([op("TransferFungible", from_container=wallet(payer), to_container=wallet(payee),
                                      class_id=CURRENCY, key=0, quantity=parse(amount))], key="payment/" + id)
        return {"id": id, "commit": done["global_seq"]}

    def balance(self, user):
        stacks = self.ledger.items(path(user) + "/balances", class_id=CURRENCY)
        return {"user": user, "balance": show(sum(s["quantity"] for s in stacks))}

    def history(self, user):
        entries = self.ledger.read(path(user) + "/history", class_id=CURRENCY, limit=50)
        entries = entries.get("data", entries)["entries"]
        return {"user": user, "entries": [{"commit": e["global_seq"], "at": e["committed_at"], "change": show(e["change"]),
                                           "balance": show(e["quantity"])} for e in entries if "change" in e]}


def wallet(user):
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", user or ""):
        raise BadRequest("a user name is 1 to 64 of the characters A-Z a-z 0-9 . _ -")
    return "wallet/" + user


def path(user):
    return "/v1/read/container/" + wallet(user).replace("/", "%2F")


def parse(amount):
    """Returns an amount such as "12.50" in cents. An amount with more decimals than the currency has is an error."""
    try:
        cents = Decimal(amount if isinstance(amount, str) else None).scaleb(CENTS)
    except (NotANumber, TypeError, ValueError):
        raise BadRequest("amount must be a number in a string, such as \"12.50\"")
    if cents != cents.to_integral_value() or not 0 < cents < 2**63:
        raise BadRequest("amount must be positive, with at most %d decimals" % CENTS)
    return int(cents)


def show(cents):
    return str(Decimal(cents).scaleb(-CENTS).quantize(Decimal(1).scaleb(-CENTS)))


class BadRequest(Exception):
    pass


ROUTES = [
    ("POST", r"/users/([^/]+)", lambda w, body, user: w.open(user)),
    ("POST", r"/users/([^/]+)/deposits", lambda w, body, user: w.deposit(user, body["id"], body["amount"])),
    ("POST", r"/payments", lambda w, body: w.pay(body["id"], body["from"], body["to"], body["amount"])),
    ("GET", r"/users/([^/]+)", lambda w, body, user: w.balance(user)),
    ("GET", r"/users/([^/]+)/history", lambda w, body, user: w.history(user)),
]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wallets = None

    def answer(self):
        try:
            size = min(int(self.headers.get("Content-Length") or 0), 1 << 16)
            body = json.loads(self.rfile.read(size) or b"{}") if self.command == "POST" else None
            for method, pattern, run in ROUTES:
                match = re.fullmatch(pattern, self.path)
                if match and method == self.command:
                    return 200, run(self.wallets, body, *match.groups())
            return 404, {"error": "no such path"}
        except (BadRequest, KeyError, TypeError, ValueError) as e:
            return 400, {"error": str(e) if isinstance(e, BadRequest) else "malformed request"}
        except lib.ContainerNotFound:
            return 404, {"error": "no such user"}
        except (lib.InsufficientBalance, lib.StackNotFound):
            return 402, {"error": "not enough money"}
        except (lib.NameTaken, lib.IdempotencyConflict) as e:
            return 409, {"error": e.code}
        except lib.Refused as e:
            return 422, {"error": e.code}
        except lib.LedgerError:
            return 503, {"error": "try again with the same id"}

    def handle_request(self):
        status, body = self.answer()
        text = json.dumps(body, separators=(",", ":")).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = handle_request

    def log_message(self, *args):
        pass


def main():
    args = argparse.ArgumentParser(description="A wallet service on the asset ledger.")
    args.add_argument("--write", default="http://127.0.0.1:8080")
    args.add_argument("--read", default="http://127.0.0.1:8081")
    args.add_argument("--token")
    args.add_argument("--listen", default="127.0.0.1:9000")
    args = args.parse_args()
    Handler.wallets = Wallets(Ledger(args.write.split(","), args.read.split(","), token=args.token))
    host, port = args.listen.rsplit(":", 1)
    server = ThreadingHTTPServer((host, int(port)), Handler)
    print("wallet service on http://%s:%d" % server.server_address[:2], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
