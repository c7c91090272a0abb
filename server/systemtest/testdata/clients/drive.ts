// Drives docs/clients/ledger.ts for TestClients: drive.ts WRITE READ CURSOR N; for
// TestClientsOutcomes: drive.ts outcomes URL NAME SECONDS NAME SECONDS…; and for
// TestClientsCutAnswers: drive.ts cuts URL NAME BYTES NAME BYTES….

import { type CommitResult, fileCursor, Ledger, op, OutcomeUnknown, Refused, type Transaction, Unavailable } from "./ledger.ts";

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
    console.log("read", names[i], await outcome(ledger.read("/v1/read/class/" + names[i])));
  }
  const follow = async () => {
    for await (const commit of new Ledger({ read: url }).feed()) console.log("feed", commit.global_seq);
  };
  console.log("feed", await outcome(follow()));
  process.exit(0);
}

/** Makes the request of one case, with the place as the token, and returns what came of it. */
async function cut(url: string, place: string): Promise<string> {
  const ledger = new Ledger({ write: url, read: url, token: place });
  const told: unknown[] = [place];
  try {
    switch (place.split("-")[0]) {
      case "read":
        told.push("done", (await ledger.read("/v1/read/stack")).quantity);
        break;
      case "stream":
        for await (const [tx, result] of ledger.commitAll(["1", "2"].map((key) => ({ operations: [], idempotency_key: key })))) {
          told.push("done", `${tx.idempotency_key}=${(result as CommitResult).global_seq}`);
        }
        break;
      case "feed":
        for await (const commit of ledger.feed()) {
          told.push("done", commit.global_seq);
          if (commit.global_seq >= 3) break;
        }
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
  const [url, ...cases] = process.argv.slice(3);
  const places: string[] = [];
  for (let i = 0; i < cases.length; i += 2) for (let at = 0; at <= Number(cases[i + 1]); at++) places.push(`${cases[i]}-${at}`);
  const told: string[] = [];
  let next = 0;
  await Promise.all(Array.from({ length: 64 }, async () => {
    for (let i; (i = next++) < places.length;) told[i] = await cut(url, places[i]);
  }));
  console.log(told.join("\n"));
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
