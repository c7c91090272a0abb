/**
 * A client for the asset ledger. One file without dependencies, for Node 18 or later, Deno and browsers: copy it.
 *
 *     import { Ledger, op, Refused } from "./ledger.ts";
 *
 *     const ledger = new Ledger({ write: "http://127.0.0.1:8080", read: "http://127.0.0.1:8081" });
 *     try {
 *       await ledger.commit([op("TransferFungible", { from_container: "wallet/7", to_container: "shop",
 *         class_id: "EUR", key: 0, quantity: 2550 })], { key: "order-17" });
 *     } catch (e) {
 *       if (!(e instanceof Refused && e.code === "InsufficientBalance")) throw e;
 *       console.log("only", e.details.available, "cents left");
 *     }
 *     console.log(await ledger.read("/v1/read/container/shop/balances")); // reflects the commit above
 *
 * Integers are exact: those beyond 2^53 are bigint, both ways. Retries can't double anything: every commit has an
 * idempotency key (a random one if you give none), and all attempts of one call use the same key. Give your own key,
 * stored with the order it pays for, so that you can also repeat the call after your program has crashed.
 *
 * Addresses may be lists; a daemon that does not respond, or is not the writer, is passed over.
 */

export type Integer = number | bigint;
export type Json = null | boolean | Integer | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };
export type Operation = { op: string; args: JsonObject };
export type Transaction = { operations: Operation[]; idempotency_key?: string; metadata?: JsonObject };
export type CommitResult = { global_seq: Integer; batch_seq: number; minted_instances: Integer[]; metadata: JsonObject };
export type Commit = JsonObject & { global_seq: Integer };
export type CommitOptions = { key?: string; metadata?: JsonObject };

/** Keeps the position of a feed; see fileCursor. */
export interface Cursor {
  load(): Promise<Integer>;
  save(seq: Integer): Promise<void>;
}

/** Any failure of this client. */
export class LedgerError extends Error {}

/** No daemon accepted the request in time. Nothing was applied. */
export class Unavailable extends LedgerError {}

/** No response arrived in time: the request may have taken effect. Repeat it with the same key. */
export class OutcomeUnknown extends LedgerError {
  constructor(message: string, readonly key?: string) {
    super(message);
  }
}

/** The ledger rejected the request, and nothing changed. docs/api.md lists the codes. */
export class Refused extends LedgerError {
  readonly code: string;
  readonly details: JsonObject;
  readonly operationIndex?: number;
  /** status is that of HTTP; 0 for one of many results. */
  constructor(readonly status: number, error: JsonObject) {
    super(String(error.message ?? ""));
    this.code = String(error.code ?? "");
    this.details = (error.details ?? {}) as JsonObject;
    if (error.operation_index !== undefined) this.operationIndex = Number(error.operation_index);
  }
}

/** Returns one operation: op("AddFungible", { container_id: "shop", class_id: "EUR", key: 0, quantity: 5 }). */
export function op(name: string, args: JsonObject): Operation {
  return { op: name, args };
}

/** Returns a random idempotency key. */
export function newKey(): string {
  return crypto.randomUUID();
}

export interface Options {
  /** URLs of write and read daemons. */
  write?: string | string[];
  read?: string | string[];
  /** Bearer token, if the daemons require one. */
  token?: string;
  /** Milliseconds for one attempt. */
  timeout?: number;
  /** Milliseconds until a call ends with Unavailable or OutcomeUnknown. */
  giveUp?: number;
}

const MAX_BACKOFF = 5000;
const NOTHING_DONE = ["Overloaded", "ShuttingDown", "NotTheWriter", "NotFresh"];
// The daemon ends a stream with one of these, in a line that may belong to no transaction.
const ENDINGS = ["ShuttingDown", "LogUnavailable", "NotTheWriter", "Internal"];

/** A connection to one ledger. */
export class Ledger {
  /** The highest global_seq that this object has committed; reads wait for it. */
  lastSeq: Integer = 0;
  private bases: { write: string[]; read: string[] };
  private preferred = { write: 0, read: 0 };
  private headers: Record<string, string>;
  private timeout: number;
  private giveUp: number;

  constructor(o: Options = {}) {
    this.bases = { write: addresses(o.write ?? "http://127.0.0.1:8080"), read: addresses(o.read ?? "http://127.0.0.1:8081") };
    this.headers = o.token ? { Authorization: "Bearer " + o.token } : {};
    this.timeout = o.timeout ?? 30_000;
    this.giveUp = o.giveUp ?? 60_000;
  }

  /** Commits operations atomically. */
  commit(operations: Operation[], o: CommitOptions = {}): Promise<CommitResult> {
    return this.post("/v1/commit", { operations, ...frame(o) });
  }

  /** Reverses a commit by a new one. */
  reverse(globalSeq: Integer, o: CommitOptions = {}): Promise<CommitResult> {
    return this.post(`/v1/commit/${globalSeq}/reverse`, frame(o));
  }

  /** Judges operations without applying them, and throws what commit would. */
  async preflight(operations: Operation[]): Promise<{ at_seq: Integer; minted_instances: Integer[] }> {
    return (await this.call("write", "POST", "/v1/commit/preflight", { operations })) as any;
  }

  /**
   * Commits many transactions, each atomic by itself, and yields [transaction, result] in order, where result is a
   * CommitResult or a Refused. At most window transactions are unanswered at a time. On Node and Deno they travel on
   * one stream, elsewhere in batches. A broken connection is replaced, and what is unanswered is sent again.
   */
  async *commitAll(
    transactions: Iterable<Transaction> | AsyncIterable<Transaction>, window = 1024,
  ): AsyncGenerator<[Transaction, CommitResult | Refused]> {
    const node = await import("node:http").catch(() => null);
    const source = (Symbol.asyncIterator in transactions ? transactions[Symbol.asyncIterator]() : transactions[Symbol.iterator]()) as AsyncIterator<Transaction>;
    yield* node ? new Stream(this.internals(), node, source, window).results() : this.inBatches(source, window);
  }

  /** Returns one read, which reflects all commits of this object. */
  read(path: string, query: Record<string, Integer | string | boolean> = {}): Promise<JsonObject> {
    return this.call("read", "GET", path + this.query(query));
  }

  /** Yields the entries of a list, page by page. */
  async *items(path: string, query: Record<string, Integer | string> = {}): AsyncGenerator<JsonObject> {
    for (query = { ...query }; ;) {
      const answer = await this.read(path, query);
      const page = (answer.data ?? answer) as JsonObject;
      for (const list of Object.values(page)) if (Array.isArray(list)) yield* list as JsonObject[];
      if (!page.next_cursor) return;
      query.cursor = String(page.next_cursor);
    }
  }

  /**
   * Yields every commit, in order and for ever, beginning after the commit `after`. A cursor keeps the position: a commit
   * counts as processed when the next one is asked for. After a crash the commit that was being processed is yielded
   * again, so make its effect repeatable by its global_seq.
   */
  async *feed(o: { after?: Integer; cursor?: Cursor; signal?: AbortSignal } = {}): AsyncGenerator<Commit> {
    let after = (await o.cursor?.load()) ?? o.after ?? 0;
    for (let wait = 0; !o.signal?.aborted;) {
      try {
        for await (const commit of this.events(after, o.signal)) {
          wait = 0;
          yield commit;
          after = commit.global_seq;
          await o.cursor?.save(after);
        }
      } catch (e) {
        if (e instanceof Refused && e.status < 500) throw e;
        if (o.signal?.aborted) return;
      }
      this.preferred.read++;
      await sleep((wait = backoff(wait)));
    }
  }

  private async *events(after: Integer, signal?: AbortSignal): AsyncGenerator<Commit> {
    const silence = new AbortController(); // the daemon sends a comment every 15 s
    const abort = () => silence.abort();
    signal?.addEventListener("abort", abort);
    let timer = setTimeout(abort, 45_000);
    try {
      const response = await fetch(this.base("read") + "/v1/read/commits", {
        headers: { ...this.headers, Accept: "text/event-stream", "Last-Event-ID": String(after) }, signal: silence.signal,
      });
      if (response.status !== 200) throw new Refused(response.status, errorOf(parseAnswer(await response.text())));
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      for (let text = ""; ;) {
        const { value, done } = await reader.read();
        if (done) return;
        clearTimeout(timer);
        timer = setTimeout(abort, 45_000);
        const lines = (text + value).split("\n");
        text = lines.pop()!;
        for (const line of lines) if (line.startsWith("data:")) yield parseJson(line.slice(5)) as Commit;
      }
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      silence.abort();
    }
  }

  private async post(path: string, body: JsonObject): Promise<CommitResult> {
    const result = (await this.call("write", "POST", path, body)) as unknown as CommitResult;
    if (!result.global_seq) throw new OutcomeUnknown("the answer is not the result of a commit", String(body.idempotency_key));
    this.committed(result);
    return result;
  }

  private async *inBatches(source: AsyncIterator<Transaction>, size: number): AsyncGenerator<[Transaction, CommitResult | Refused]> {
    for (let more = true; more;) {
      const batch: Transaction[] = [];
      while (batch.length < size) {
        const next = await source.next();
        if (next.done) {
          more = false;
          break;
        }
        batch.push({ ...next.value, idempotency_key: next.value.idempotency_key ?? newKey() });
      }
      if (!batch.length) return;
      const answer = await this.call("write", "POST", "/v1/commit/batch", { transactions: batch as unknown as Json });
      const results = answer.results as JsonObject[];
      for (let i = 0; i < batch.length; i++) yield [batch[i], this.verdict(results[i])];
    }
  }

  private verdict(result: JsonObject): CommitResult | Refused {
    if (result.error) return new Refused(0, result.error as JsonObject);
    this.committed(result as unknown as CommitResult);
    return result as unknown as CommitResult;
  }

  private committed(result: CommitResult) {
    if (result.global_seq > this.lastSeq) this.lastSeq = result.global_seq;
  }

  private query(query: Record<string, Integer | string | boolean>): string {
    const all = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) all.set(name, String(value));
    if (this.lastSeq && !("min_seq" in query || "at_seq" in query || "at_time" in query)) all.set("min_seq", String(this.lastSeq));
    return all.size ? "?" + all : "";
  }

  /** Sends a request until a daemon decides it, or time is up. */
  private async call(kind: "write" | "read", method: string, path: string, body?: JsonObject): Promise<JsonObject> {
    const end = Date.now() + this.giveUp;
    const text = body && stringifyJson(body);
    let unknown = false, last = "no attempt was made";
    for (let wait = 0; ;) {
      let retryAfter: string | null = null;
      try {
        const response = await fetch(this.base(kind) + path, {
          method, body: text, signal: AbortSignal.timeout(this.timeout), redirect: "manual",
          headers: text ? { ...this.headers, "Content-Type": "application/json" } : this.headers,
        });
        const answer = parseAnswer(await response.text());
        if (response.status === 200 && answer) return answer;
        const error = errorOf(answer), code = String(error.code ?? "");
        if (code && response.status < 500 && code !== "NotFresh") throw new Refused(response.status, error);
        last = code ? `${code}: ${error.message}` : `${this.base(kind)} answered ${response.status}, which is no answer of the ledger's`;
        retryAfter = response.headers.get("Retry-After");
        unknown ||= !NOTHING_DONE.includes(code);
        if (!code && response.status < 500) break; // another server, which would say so again
      } catch (e) {
        if (e instanceof Refused) throw e;
        last = `${this.base(kind)}: ${e}`;
        unknown ||= (e as any)?.cause?.code !== "ECONNREFUSED";
      }
      this.preferred[kind]++;
      wait = backoff(wait, retryAfter);
      if (Date.now() + wait > end) break;
      await sleep(wait);
    }
    if (method === "POST" && unknown) throw new OutcomeUnknown(last, body?.idempotency_key as string | undefined);
    throw new Unavailable(last);
  }

  private base(kind: "write" | "read"): string {
    return this.bases[kind][this.preferred[kind] % this.bases[kind].length];
  }

  private internals() {
    return {
      base: () => this.base("write"), passOver: () => this.preferred.write++, verdict: (r: JsonObject) => this.verdict(r),
      headers: this.headers, timeout: this.timeout, giveUp: this.giveUp,
    };
  }
}

/** One run of commitAll over streams. */
class Stream {
  private unanswered: Transaction[] = []; // in the order of sending
  private exhausted = false;

  constructor(
    private ledger: ReturnType<Ledger["internals"]>, private node: any, private source: AsyncIterator<Transaction>, private window: number,
  ) {}

  async *results(): AsyncGenerator<[Transaction, CommitResult | Refused]> {
    let end = Date.now() + this.ledger.giveUp;
    for (let wait = 0; !this.exhausted || this.unanswered.length;) {
      let last = "the stream ended early";
      try {
        for await (const answered of this.connection()) {
          [end, wait] = [Date.now() + this.ledger.giveUp, 0];
          yield answered;
        }
        if (this.exhausted && !this.unanswered.length) return;
      } catch (e) {
        if (e instanceof Refused) throw e;
        last = String(e);
      }
      this.ledger.passOver();
      wait = backoff(wait);
      if (Date.now() + wait > end) throw new OutcomeUnknown(last, this.unanswered[0]?.idempotency_key);
      await sleep(wait);
    }
  }

  /** Opens one stream, and yields [transaction, result] until it ends. */
  private async *connection(): AsyncGenerator<[Transaction, CommitResult | Refused]> {
    const url = new URL(this.ledger.base() + "/v1/commit/stream");
    const http = url.protocol === "https:" ? await import("node:https" as string) : this.node;
    const request = http.request(url, {
      method: "POST", timeout: this.ledger.timeout, headers: { ...this.ledger.headers, "Content-Type": "application/x-ndjson" },
    });
    request.on("timeout", () => request.destroy(new Error("the daemon is silent")));
    let broken: unknown = null;
    const response: any = await new Promise((resolve, reject) => {
      request.on("response", resolve);
      request.on("error", (e: unknown) => reject((broken = e)));
      request.flushHeaders();
    });
    response.on("error", (e: unknown) => (broken = e));
    try {
      if (response.statusCode !== 200) {
        let text = "";
        for await (const piece of response.setEncoding("utf8")) text += piece;
        const error = errorOf(parseAnswer(text));
        if (response.statusCode < 500) throw new Refused(response.statusCode, error);
        throw new Error(String(error.code));
      }
      if (this.unanswered.length) request.write(lines(this.unanswered));
      yield* this.receive(request, response);
      if (broken) throw broken;
    } finally {
      request.destroy();
    }
  }

  private async *receive(request: any, response: any): AsyncGenerator<[Transaction, CommitResult | Refused]> {
    let rest = "", held: JsonObject | null = null; // a result that may be the daemon's last word instead
    await this.refill(request);
    if (!this.unanswered.length) return;
    for await (const piece of response.setEncoding("utf8")) {
      const results = (rest + piece).split("\n");
      rest = results.pop()!;
      for (const line of results) {
        if (held) yield [this.unanswered.shift()!, new Refused(0, held)];
        held = null;
        const result = parseJson(line), error = result.error as JsonObject | undefined;
        if (error?.code === "Forbidden") held = error;
        else if (error?.code === "Unauthorized") throw new Refused(0, error);
        else if (error && ENDINGS.includes(String(error.code))) return;
        else yield [this.unanswered.shift()!, this.ledger.verdict(result)];
      }
      await this.refill(request);
      if (this.exhausted && !this.unanswered.length) return;
    }
    if (held && this.exhausted && this.unanswered.length === 1) yield [this.unanswered.shift()!, new Refused(0, held)];
  }

  private async refill(request: any) {
    const fresh: Transaction[] = [];
    while (!this.exhausted && this.unanswered.length < this.window) {
      const next = await this.source.next();
      if (next.done) {
        this.exhausted = true;
        break;
      }
      fresh.push({ ...next.value, idempotency_key: next.value.idempotency_key ?? newKey() });
      this.unanswered.push(fresh[fresh.length - 1]);
    }
    if (fresh.length) request.write(lines(fresh));
    if (this.exhausted && !request.writableEnded) request.end();
  }
}

/** A cursor in a file, for Node and Deno. It is replaced in one step, and durable when save returns. */
export function fileCursor(path: string): Cursor {
  const fs = () => import("node:fs/promises" as string);
  return {
    async load() {
      const text = await (await fs()).readFile(path, "utf8").catch((e: any) => {
        if (e.code === "ENOENT") return "0";
        throw e;
      });
      return exact(text.trim());
    },
    async save(seq) {
      const { open, rename } = await fs();
      const file = await open(path + ".tmp", "w");
      await file.writeFile(seq + "\n");
      await file.sync();
      await file.close();
      await rename(path + ".tmp", path);
    },
  };
}

// Exact JSON: integers that a number can't hold travel through JSON.parse and JSON.stringify as marked strings.

const mark = "\u0001" + newKey() + ":";
const token = /"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g;

export function parseJson(text: string): JsonObject {
  const marked = text.replace(token, (t) => (t[0] === '"' ? t : JSON.stringify(mark + t)));
  return JSON.parse(marked, (_, v) => (typeof v === "string" && v.startsWith(mark) ? exact(v.slice(mark.length)) : v));
}

export function stringifyJson(value: unknown): string {
  const text = JSON.stringify(value, (_, v) => (typeof v === "bigint" ? mark + v : v));
  return text.replaceAll(new RegExp(JSON.stringify(mark).slice(0, -1).replaceAll("\\", "\\\\") + '(-?\\d+)"', "g"), "$1");
}

function exact(digits: string): Integer {
  const n = Number(digits);
  return Number.isSafeInteger(n) ? n : BigInt(digits);
}

/** Returns a JSON object, or null: it is another server's. */
function parseAnswer(text: string): JsonObject | null {
  try {
    const answer: Json = parseJson(text);
    return answer && typeof answer === "object" && !Array.isArray(answer) ? answer : null;
  } catch {
    return null;
  }
}

function errorOf(answer: JsonObject | null): JsonObject {
  const error = answer?.error;
  return error && typeof error === "object" && !Array.isArray(error) ? error : {};
}

function lines(transactions: Transaction[]): string {
  return transactions.map((tx) => stringifyJson(tx) + "\n").join("");
}

function frame(o: CommitOptions): JsonObject {
  const body: JsonObject = { idempotency_key: o.key ?? newKey() };
  if (o.metadata) body.metadata = o.metadata;
  return body;
}

function addresses(urls: string | string[]): string[] {
  return (typeof urls === "string" ? [urls] : urls).map((url) => url.replace(/\/+$/, ""));
}

/** Returns the milliseconds to wait: exponential with jitter, or what the daemon asks for. */
function backoff(wait: number, retryAfter?: string | null): number {
  if (retryAfter && /^\d+$/.test(retryAfter)) return Number(retryAfter) * 1000 * (1 + Math.random() / 2);
  return (0.5 + Math.random() / 2) * Math.min(MAX_BACKOFF, Math.max(50, wait * 2));
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
