// Makes requests through docs/clients/ledger.ts, for these tests:
//
//   drive.ts WRITE READ CURSOR N                                    TestClients
//   drive.ts outcomes URL NAME SECONDS NAME SECONDS…                TestClientsOutcomes
//   drive.ts cuts URL STEP NAME BYTES NAME BYTES…                   TestClientsCutAnswers
//   drive.ts streams STANDBY URL CURSOR NAME SECONDS NAME SECONDS…  TestClientsStreams
//   drive.ts stream WRITE                                           TestProveHandover; one idempotency key per line on standard input

import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { createInterface } from "node:readline";
import { type CommitResult, type Cursor, fileCursor, Ledger, op, OutcomeUnknown, Refused, type Transaction, Unavailable } from "./ledger.ts";

async function outcome(doing: Promise<unknown>): Promise<string> {
  return doing.then(() => "done", (e) => {
    if (e instanceof OutcomeUnknown) return "unknown";
    if (e instanceof Unavailable) return "unavailable";
    if (e instanceof Refused) return ("refused " + e.code).trim();
    throw e;
  });
}

if (process.argv[2] === "outcomes") {
  const [url, ...names] = process.argv.slice(3);
  for (let i = 0; i < names.length; i += 2) {
    const ledger = new Ledger({ write: url, read: url, giveUp: Number(names[i + 1]) * 1000 });
    console.log("commit", names[i], await outcome(ledger.commit([op("ReleaseHold", { hold_id: 1 })], { key: names[i] })));
    console.log("preflight", names[i], await outcome(ledger.preflight([op("ReleaseHold", { hold_id: names[i] })])));
    console.log("read", names[i], await outcome(ledger.read("/v1/read/class/" + names[i])));
  }
  const follow = async () => {
    for await (const commit of new Ledger({ read: url }).feed()) console.log("feed", commit.global_seq);
  };
  console.log("feed", await outcome(follow()));
  process.exit(0);
}

/** Commits two transactions over a stream, or in a batch as in browsers, and adds their outcomes to told. */
async function two(ledger: Ledger, told: unknown[], name = ""): Promise<void> {
  const transactions = function* (): Generator<Transaction> {
    for (const key of ["1", "2"]) yield { operations: [], idempotency_key: key };
    if (name === "source") throw new RangeError("source failed");
  };
  const batches = (ledger as any).inBatches(transactions(), 2) as ReturnType<Ledger["commitAll"]>;
  for await (const [tx, result] of name.startsWith("batches") ? batches : ledger.commitAll(transactions())) {
    told.push(`${tx.idempotency_key}=${result instanceof Refused ? result.code : result.global_seq}`);
  }
}

/** Follows a feed up to commit 3. */
async function upToThree(ledger: Ledger, told: unknown[], where: { after?: number; cursor?: Cursor; signal?: AbortSignal } = {}): Promise<void> {
  for await (const commit of ledger.feed(where)) {
    told.push(commit.global_seq);
    if (commit.global_seq >= 3) break;
  }
}

/** Saves a cursor, and adds to told what is synced. */
async function synced(told: unknown[]): Promise<void> {
  const open = fs.open;
  fs.open = async (...args: Parameters<typeof open>) => {
    const file = await open(...args), sync = file.sync.bind(file);
    file.sync = async () => { told.push((await file.stat()).isDirectory() ? "folder" : "file"); return sync(); };
    return file;
  };
  syncBuiltinESMExports();
  await fileCursor(process.argv[1] + ".cursor").save(7);
}

/** Commits eight transactions at the same time, and returns how many are done. */
async function eight(ledger: Ledger): Promise<number> {
  const all = await Promise.all(Array.from({ length: 8 }, () => outcome(ledger.commit([]))));
  return all.filter((told) => told === "done").length;
}

const stop = new AbortController();
let waiting: Promise<void>;

/** Plays one case of TestClientsStreams, with its name as the token. */
async function streamed(standby: string, url: string, cursor: string, name: string, giveUp: number): Promise<string> {
  const o = { write: url, read: url, token: name, giveUp };
  const told: unknown[] = [name];
  try {
    if (name === "elsewhere") told.push(await eight(new Ledger({ ...o, write: [standby, url] })), "done");
    else if (name === "cursor") await synced(told);
    else if (name === "feed-after") await upToThree(new Ledger(o), told, { after: 1, cursor: { load: async () => 0, save: async () => {} } });
    else if (name === "feed-position") await upToThree(new Ledger(o), told, { cursor: fileCursor(cursor) });
    else if (name === "feed-waits") {
      waiting = upToThree(new Ledger(o), [], { signal: stop.signal });
      told.push("waits");
    } else if (name.startsWith("feed-")) await upToThree(new Ledger(o), told);
    else await two(new Ledger(o), told, name);
  } catch (e) {
    if (e instanceof OutcomeUnknown) told.push("unknown", e.key);
    else if (e instanceof Unavailable) told.push("unavailable");
    else if (e instanceof Refused) told.push(("refused " + e.code).trim());
    else if (e instanceof RangeError) told.push(e.message);
    else told.push("failed");
  }
  return told.join(" ");
}

/** Makes the request of one case, with the place as the token, and returns the outcome. */
async function cut(url: string, place: string): Promise<string> {
  const ledger = new Ledger({ write: url, read: url, token: place });
  const told: unknown[] = [place];
  try {
    switch (place.split("-")[0]) {
      case "read":
        told.push("done", (await ledger.read("/v1/read/stack")).quantity);
        break;
      case "stream":
        await two(ledger, told);
        break;
      case "feed":
        await upToThree(ledger, told);
        break;
      default:
        told.push("done", (await ledger.commit([], { key: place })).global_seq);
    }
  } catch (e) {
    if (e instanceof Refused) told.push("refused", e.code, 0);
    else told.push(String(e));
  }
  return told.join(" ");
}

if (process.argv[2] === "cuts") {
  const [url, every, ...cases] = process.argv.slice(3);
  const places: string[] = [], step = Number(every);
  for (let i = 0; i < cases.length; i += 2) {
    const size = Number(cases[i + 1]);
    for (let at = size % step; at <= size; at += step) places.push(`${cases[i]}-${at}`);
  }
  const told: string[] = [];
  let next = 0;
  await Promise.all(Array.from({ length: 64 }, async () => {
    for (let i; (i = next++) < places.length;) told[i] = await cut(url, places[i]);
  }));
  console.log(told.join("\n"));
  process.exit(0);
}

if (process.argv[2] === "streams") {
  const [standby, url, cursor, ...cases] = process.argv.slice(3);
  for (let i = 0; i < cases.length; i += 2) console.log(await streamed(standby, url, cursor, cases[i], Number(cases[i + 1]) * 1000));
  stop.abort();
  const late = setTimeout(() => console.log("the feed continues after it was aborted"), 10_000);
  await waiting!;
  clearTimeout(late);
  process.exit(0);
}

if (process.argv[2] === "stream") {
  const add = op("AddFungible", { container_id: 1, class_id: 1, key: 0, quantity: 1 });
  const keyed = async function* (): AsyncGenerator<Transaction> {
    for await (const key of createInterface({ input: process.stdin })) yield { operations: [add], idempotency_key: key };
  };
  for await (const [tx, result] of new Ledger({ write: process.argv[3].split(",") }).commitAll(keyed())) {
    console.log("ack", tx.idempotency_key, (result as CommitResult).global_seq);
  }
  process.exit(0);
}

const [write, read, cursor, count] = process.argv.slice(2);
const n = Number(count);
const o = { write: write.split(","), read: read.split(","), timeout: 5000 };
const ledger = new Ledger(o);

function transfer(i: number) {
  return op("TransferFungible", {
    from_container: `acct/${i % 10}`, to_container: `acct/${(i * 7 + 1) % 10}`,
    class_id: "GOLD", key: 0, quantity: i % 20 === 0 ? 1e9 : 1 + (i % 5),
  });
}

async function refusal(doing: Promise<unknown>): Promise<Refused> {
  return doing.then(() => { throw new Error("not refused"); }, (e) => { if (e instanceof Refused) return e; throw e; });
}

await ledger.commit([op("RegisterClass", { request: { name: "Gold", code: "GOLD" } })], { key: "setup" });
for (let i = 0; i < 10; i++) {
  await ledger.commit([op("CreateContainer", { kind: "Standard", name: `acct/${i}` }),
    op("AddFungible", { container_id: `acct/${i}`, class_id: "GOLD", key: 0, quantity: 100_000 })], { key: `open-${i}` });
}
for (let i = 0; i < n; i++) {
  const doing = ledger.commit([transfer(i)], { key: `single-${i}` });
  if (i % 20) {
    console.log(`ack single-${i}`, (await doing).global_seq);
    continue;
  }
  const e = await refusal(doing);
  console.log(`refused single-${i}`, e.code, e.details.requested);
}
for (const i of [1, Math.floor(n / 2) + 1]) console.log(`ack single-${i}`, (await ledger.commit([transfer(i)], { key: `single-${i}` })).global_seq);
const missing = await refusal(ledger.commit([op("RemoveContainer", { container_id: "nobody" })]));
console.log("typed", missing.code, missing.operationIndex);
function* many(): Generator<Transaction> {
  for (let i = 0; i < 4 * n; i++) yield { operations: [transfer(i)], idempotency_key: `many-${i}` };
}
for await (const [tx, result] of ledger.commitAll(many(), 200)) {
  if (result instanceof Refused) console.log("refused", tx.idempotency_key, result.code, result.details.requested);
  else console.log("ack", tx.idempotency_key, result.global_seq);
}
const big = 2n ** 63n - 1n;
const exact = await ledger.commit([op("AddFungible", { container_id: "acct/0", class_id: "GOLD", key: big, quantity: big - 10_000_000n })],
  { key: "exact", metadata: { n: big } });
console.log("exact", String(exact.metadata.n));
for await (const stack of ledger.items("/v1/read/container/acct%2F0/balances", { limit: 1 })) { // sees all of the above
  console.log("stack", String(stack.key), String(stack.quantity));
}
const last = Number(ledger.lastSeq);
for (const stop of [Math.floor(last / 2), last]) {
  for await (const commit of new Ledger(o).feed({ cursor: fileCursor(cursor) })) {
    console.log("saw", commit.global_seq);
    if (commit.global_seq >= stop) break;
  }
}
process.exit(0);
