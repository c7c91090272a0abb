/**
 * A wallet service on the asset ledger: the smallest back end that moves money safely.
 *
 *     node wallet.ts --write http://127.0.0.1:8080 --read http://127.0.0.1:8081 --listen 127.0.0.1:9000
 *
 *     POST /users/ada                                      opens a wallet
 *     POST /users/ada/deposits  {"id":"d1","amount":"12.50"}   money comes in from outside
 *     POST /payments  {"id":"p1","from":"ada","to":"bo","amount":"5.00"}
 *     GET  /users/ada                                      {"user":"ada","balance":"7.50"}
 *     GET  /users/ada/history                              newest first
 *
 * The idempotency key of a deposit or payment contains its id: a client that got no response can safely send the same request again.
 */

import { createServer, type IncomingMessage } from "node:http";
import { parseArgs } from "node:util";
import { type Integer, type JsonObject, Ledger, LedgerError, op, Refused } from "./ledger.ts";

const CURRENCY = "EUR", DECIMALS = 2;

class BadRequest extends Error {}

class Wallets {
  private ledger: Ledger;
  constructor(ledger: Ledger) {
    this.ledger = ledger;
  }

  async start() {
    const euro = { name: "Euro", code: CURRENCY, decimals: DECIMALS };
    await this.ledger.commit([op("RegisterClass", { request: euro })], { key: "wallet-service/currency" }).catch((e) => {
      if (!(e instanceof Refused && e.code === "NameTaken")) throw e; // NameTaken: another program has registered it
    });
  }

  async open(user: string) {
    await this.ledger.commit([op("CreateContainer", { kind: "Standard", name: wallet(user) })], { key: "wallet-service/open/" + user });
    return { user, balance: show(0) };
  }

  async deposit(user: string, body: JsonObject) {
    const args = { container_id: wallet(user), class_id: CURRENCY, key: 0, quantity: parse(body.amount) };
    const done = await this.ledger.commit([op("AddFungible", args)], { key: "deposit/" + text(body, "id") });
    return { id: body.id, commit: done.global_seq };
  }

  async pay(body: JsonObject) {
    const args = {
      from_container: wallet(text(body, "from")), to_container: wallet(text(body, "to")),
      class_id: CURRENCY, key: 0, quantity: parse(body.amount),
    };
    const done = await this.ledger.commit([op("TransferFungible", args)], { key: "payment/" + text(body, "id") });
    return { id: body.id, commit: done.global_seq };
  }

  async balance(user: string) {
    let sum = 0n;
    for await (const stack of this.ledger.items(path(user) + "/balances", { class_id: CURRENCY })) sum += BigInt(stack.quantity as Integer);
    return { user, balance: show(sum) };
  }

  async history(user: string) {
    const page = (await this.ledger.read(path(user) + "/history", { class_id: CURRENCY, limit: 50 })) as any;
    const entries = (page.data ?? page).entries.filter((e: any) => "change" in e).map((e: any) => (
      { commit: e.global_seq, at: e.committed_at, change: show(e.change), balance: show(e.quantity) }));
    return { user, entries };
  }
}

function text(body: JsonObject, name: string): string {
  if (typeof body[name] !== "string") throw new BadRequest(`${name} must be a string`);
  return body[name] as string;
}

function wallet(user: string): string {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(user)) throw new BadRequest("a user name is 1 to 64 of the characters A-Z a-z 0-9 . _ -");
  return "wallet/" + user;
}

function path(user: string): string {
  return "/v1/read/container/" + encodeURIComponent(wallet(user));
}

/** Returns an amount such as "12.50" in cents. An amount with more decimals than the currency has is an error. */
function parse(amount: unknown): bigint {
  const m = /^(\d{1,16})(?:\.(\d{1,2}))?$/.exec(String(amount));
  const cents = m && typeof amount === "string" ? BigInt(m[1] + (m[2] ?? "").padEnd(DECIMALS, "0")) : 0n;
  if (cents <= 0n) throw new BadRequest(`amount must be a positive number with at most ${DECIMALS} decimals, in a string such as "12.50"`);
  return cents;
}

function show(cents: Integer): string {
  const n = BigInt(cents), digits = (n < 0n ? -n : n).toString().padStart(DECIMALS + 1, "0");
  return (n < 0n ? "-" : "") + digits.slice(0, -DECIMALS) + "." + digits.slice(-DECIMALS);
}

async function read(request: IncomingMessage): Promise<JsonObject> {
  let body = "";
  for await (const piece of request.setEncoding("utf8")) if ((body += piece).length > 1 << 16) throw new BadRequest("the body is too large");
  try {
    return JSON.parse(body || "{}") ?? {};
  } catch {
    throw new BadRequest("malformed JSON");
  }
}

async function route(wallets: Wallets, request: IncomingMessage): Promise<unknown> {
  const [, kind, user, list] = request.url!.split("/"), at = `${request.method} ${kind}${user ? "/*" : ""}${list ? "/" + list : ""}`;
  switch (at) {
    case "POST users/*": return wallets.open(user);
    case "POST users/*/deposits": return wallets.deposit(user, await read(request));
    case "POST payments": return wallets.pay(await read(request));
    case "GET users/*": return wallets.balance(user);
    case "GET users/*/history": return wallets.history(user);
  }
}

function failure(e: unknown): [number, string] {
  if (e instanceof BadRequest) return [400, e.message];
  if (!(e instanceof Refused)) return e instanceof LedgerError ? [503, "try again with the same id"] : [500, "internal error"];
  switch (e.code) {
    case "ContainerNotFound": return [404, "no such user"];
    case "InsufficientBalance": case "StackNotFound": return [402, "not enough money"];
    case "NameTaken": case "IdempotencyConflict": return [409, e.code];
    default: return [422, e.code];
  }
}

const { values: flags } = parseArgs({ options: {
  write: { type: "string", default: "http://127.0.0.1:8080" }, read: { type: "string", default: "http://127.0.0.1:8081" },
  token: { type: "string" }, listen: { type: "string", default: "127.0.0.1:9000" },
} });
const wallets = new Wallets(new Ledger({ write: flags.write!.split(","), read: flags.read!.split(","), token: flags.token }));
await wallets.start();
const server = createServer(async (request, response) => {
  let [status, body]: [number, unknown] = [200, null];
  try {
    body = await route(wallets, request);
    if (body === undefined) [status, body] = [404, { error: "no such path" }];
  } catch (e) {
    const [code, error] = failure(e);
    [status, body] = [code, { error }];
  }
  const answer = JSON.stringify(body, (_, v) => (typeof v === "bigint" ? v.toString() : v));
  response.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(answer) }).end(answer);
});
const [host, port] = flags.listen!.split(":");
server.listen(Number(port), host, () => console.log(`wallet service on http://${host}:${(server.address() as any).port}`));
