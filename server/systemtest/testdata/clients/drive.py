"""Makes requests through docs/clients/ledger.py, for these tests:

    drive.py WRITE READ CURSOR N                                    TestClients
    drive.py outcomes URL NAME SECONDS NAME SECONDS…                TestClientsOutcomes
    drive.py cuts URL STEP NAME BYTES NAME BYTES…                   TestClientsCutAnswers
    drive.py streams STANDBY URL CURSOR NAME SECONDS NAME SECONDS…  TestClientsStreams
    drive.py stream WRITE                                           TestProveHandover; one idempotency key per line on standard input
"""

import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

from ledger import ContainerNotFound, InsufficientBalance, Ledger, LedgerError, OutcomeUnknown, Refused, Unavailable, _save_cursor, op


def outcome(doing):
    try:
        doing()
        return "done"
    except OutcomeUnknown:
        return "unknown"
    except Unavailable:
        return "unavailable"
    except Refused as e:
        return ("refused " + e.code).strip()


def two(ledger, told, case=""):
    """Commits two transactions over a stream, or in a batch as the client does over https, and adds their outcomes to told."""
    def transactions():
        yield [], "1"
        yield [], "2"
        if case == "source":
            raise ValueError("source failed")
    batches = ledger._in_batches(({"operations": [], "idempotency_key": key} for key in "12"), 2)
    for tx, result in batches if case.startswith("batches") else ledger.commit_all(transactions()):
        told.append("%s=%s" % (tx["idempotency_key"], result.code if isinstance(result, Refused) else result["global_seq"]))


def up_to_three(ledger, told, **where):
    """Follows a feed up to commit 3."""
    for commit in ledger.feed(**where):
        told.append(commit["global_seq"])
        if commit["global_seq"] >= 3:
            break


def synced(path):
    """Saves a cursor, and returns what is synced."""
    told, fsync = [], os.fsync

    def noted(fd):
        told.append("folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file")
        fsync(fd)
    os.fsync = noted
    _save_cursor(path, 7)
    os.fsync = fsync
    return told


def eight(ledger):
    """Commits eight transactions at the same time, and returns how many are done."""
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda i: outcome(lambda: ledger.commit([])), range(8))).count("done")


def streamed(name, give_up):
    """Plays one case of TestClientsStreams, with its name as the token."""
    ledger, told = Ledger(sys.argv[3], sys.argv[3], token=name, give_up=give_up), [name]
    try:
        if name == "elsewhere":
            told += [eight(Ledger([sys.argv[2], sys.argv[3]], token=name, give_up=give_up)), "done"]
        elif name == "cursor":
            told += synced(os.path.join(os.path.dirname(__file__), "cursor"))
        elif name == "feed-after":
            up_to_three(ledger, told, after=1)
        elif name == "feed-position":
            up_to_three(ledger, told, cursor=sys.argv[4])
        elif name == "feed-waits":
            Thread(target=up_to_three, args=(ledger, []), daemon=True).start()
            told.append("waits")
        elif name in ("feed-sign-in", "feed-stopping"):
            up_to_three(ledger, told)
        else:
            two(ledger, told, name)
    except OutcomeUnknown as e:
        told += ["unknown", e.key]
    except Unavailable:
        told.append("unavailable")
    except Refused as e:
        told += ["refused"] + [e.code] * bool(e.code)
    except LedgerError:
        told.append("failed")
    except ValueError as e:
        told.append(e)
    return " ".join(map(str, told))


def cut(place):
    """Makes the request of one case, with the place as the token, and returns the outcome."""
    ledger, kind = Ledger(sys.argv[2], sys.argv[2], token=place), place.split("-")[0]
    told = [place]
    try:
        if kind == "read":
            told += ["done", ledger.read("/v1/read/stack")["quantity"]]
        elif kind == "stream":
            two(ledger, told)
        elif kind == "feed":
            up_to_three(ledger, told)
        else:
            told += ["done", ledger.commit([], key=place)["global_seq"]]
    except Refused as e:
        told += ["refused", e.code, 0]
    except LedgerError as e:
        told += [type(e).__name__, e]
    return " ".join(map(str, told))


if sys.argv[1] == "cuts":
    step, cases = int(sys.argv[3]), zip(sys.argv[4::2], map(int, sys.argv[5::2]))
    places = ["%s-%d" % (name, at) for name, size in cases for at in range(size % step, size + 1, step)]
    with ThreadPoolExecutor(64) as pool:
        print("\n".join(pool.map(cut, places)))
    sys.exit()

if sys.argv[1] == "streams":
    for name, seconds in zip(sys.argv[5::2], sys.argv[6::2]):
        print(streamed(name, float(seconds)))
    sys.exit()

if sys.argv[1] == "stream":
    add = op("AddFungible", container_id=1, class_id=1, key=0, quantity=1)
    ledger = Ledger(sys.argv[2].split(","))
    for tx, result in ledger.commit_all(([add], line.strip()) for line in sys.stdin):
        print("ack", tx["idempotency_key"], result["global_seq"], flush=True)
    sys.exit()

if sys.argv[1] == "outcomes":
    for name, seconds in zip(sys.argv[3::2], sys.argv[4::2]):
        ledger = Ledger(sys.argv[2], sys.argv[2], give_up=float(seconds))
        print("commit", name, outcome(lambda: ledger.commit([op("ReleaseHold", hold_id=1)], key=name)))
        print("preflight", name, outcome(lambda: ledger.preflight([op("ReleaseHold", hold_id=name)])))
        print("read", name, outcome(lambda: ledger.read("/v1/read/class/" + name)))
    print("feed", outcome(lambda: [print("feed", commit["global_seq"]) for commit in Ledger(read=sys.argv[2]).feed()]))
    sys.exit()

write, read, cursor, n = sys.argv[1].split(","), sys.argv[2].split(","), sys.argv[3], int(sys.argv[4])
ledger = Ledger(write, read, timeout=5)


def transfer(i):
    quantity = 10**9 if i % 20 == 0 else 1 + i % 5
    return op("TransferFungible", from_container="acct/%d" % (i % 10), to_container="acct/%d" % ((i * 7 + 1) % 10),
              class_id="GOLD", key=0, quantity=quantity)


ledger.commit([op("RegisterClass", request={"name": "Gold", "code": "GOLD"})], key="setup")
for i in range(10):
    ledger.commit([op("CreateContainer", kind="Standard", name="acct/%d" % i),
                   op("AddFungible", container_id="acct/%d" % i, class_id="GOLD", key=0, quantity=100_000)], key="open-%d" % i)
for i in range(n):
    try:
        print("ack single-%d" % i, ledger.commit([transfer(i)], key="single-%d" % i)["global_seq"])
    except InsufficientBalance as e:
        print("refused single-%d" % i, e.code, e.details["requested"])
for i in (1, n // 2 + 1):
    print("ack single-%d" % i, ledger.commit([transfer(i)], key="single-%d" % i)["global_seq"])
try:
    ledger.commit([op("RemoveContainer", container_id="nobody")])
except ContainerNotFound as e:
    print("typed", e.code, e.operation_index)
many = (([transfer(i)], "many-%d" % i) for i in range(4 * n))
for tx, result in ledger.commit_all(many, window=200):
    if isinstance(result, Refused):
        print("refused", tx["idempotency_key"], result.code, result.details["requested"])
    else:
        print("ack", tx["idempotency_key"], result["global_seq"])
big = 2**63 - 1
print("exact", ledger.commit([op("AddFungible", container_id="acct/0", class_id="GOLD", key=big, quantity=big - 10**7)],
                             key="exact", metadata={"n": big})["metadata"]["n"])
for stack in ledger.items("/v1/read/container/acct%2F0/balances", limit=1):  # sees all of the above
    print("stack", stack["key"], stack["quantity"])
for stop in (ledger.last_seq // 2, ledger.last_seq):
    for commit in Ledger(write, read, timeout=5).feed(cursor=cursor):
        print("saw", commit["global_seq"])
        if commit["global_seq"] >= stop:
            break
