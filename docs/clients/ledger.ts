/**
 * A client for the asset ledger. One file without dependencies, for Node 20 or later, Deno and browsers: copy it.
 * Node 22.18, and 23.6 or newer, run it as it is. For an older version, compile it as the README.md in this directory says.
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
 * In a path, a / in a name is written %2F: "/v1/read/container/" + encodeURIComponent("wallet/7") + "/balances".
 *
 * Integers are exact: those beyond 2^53 are bigint, in both directions. Retries can't commit anything twice: every commit
 * has an idempotency key (a random one if you give none), and all attempts of one call use the same key. Give your own
 * key, and store it with the order that the commit pays for, so that you can also repeat the call after your program has crashed.
 *
 * write and read may also be lists of URLs: if a daemon does not respond, or is not the writer, the next one is tried.
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

/** The request may have taken effect: no response said whether it did. Repeat it with the same key. */
export class OutcomeUnknown extends LedgerError {
  readonly key?: string;
  constructor(message: string, key?: string) {
    super(message);
    this.key = key;
  }
}

/** The ledger rejected the request, and nothing changed. docs/api.md lists the codes. */
export class Refused extends LedgerError {
  /** The HTTP status; 0 for a result of commitAll. */
  readonly status: number;
  readonly code: string;
  readonly details: JsonObject;
  readonly operationIndex?: number;
  constructor(status: number, error: JsonObject) {
    super(String(error.message ?? ""));
    this.status = status;
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
  /** Milliseconds without success until a call ends with Unavailable or OutcomeUnknown; feed has no such limit. */
  giveUp?: number;
}

const MAX_BACKOFF = 5000, MAX_RETRY_AFTER = 30;
const NOTHING_DONE = ["Overloaded", "ShuttingDown", "NotTheWriter", "NotFresh"];
const HANDS_OVER = ["ShuttingDown", "NotTheWriter"]; // their Retry-After says nothing about the next writer
// With one of these results, a line of a stream was not executed, or can safely be sent again because of its key.
const AGAIN = ["Overloaded", "ShuttingDown", "LogUnavailable", "NotTheWriter", "Internal"];

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

  /** Reverses a commit with a new commit. */
  reverse(globalSeq: Integer, o: CommitOptions = {}): Promise<CommitResult> {
    return this.post(`/v1/commit/${globalSeq}/reverse`, frame(o));
  }

  /** Checks operations without applying them. It throws what commit would, except that it throws Unavailable instead of OutcomeUnknown, because it changes nothing. */
  async preflight(operations: Operation[]): Promise<{ at_seq: Integer; minted_instances: Integer[] }> {
    return (await this.call("write", "POST", "/v1/commit/preflight", { operations })) as any;
  }

  /**
   * Commits many transactions, and yields [transaction, result] in order, where result is a CommitResult or a Refused.
   * Each transaction is atomic. At most `window` transactions are unanswered at a time. On Node and Deno they are sent over
   * one stream, elsewhere in batches. If the connection breaks, it is opened again, and unanswered transactions are
   * sent again with their keys.
   */
  async *commitAll(
    transactions: Iterable<Transaction> | AsyncIterable<Transaction>, window = 1024,
  ): AsyncGenerator<[Transaction, CommitResult | Refused]> {
    const node = await import("node:http").catch(() => null);
    const source = (Symbol.asyncIterator in transactions ? transactions[Symbol.asyncIterator]() : transactions[Symbol.iterator]()) as AsyncIterator<Transaction>;
    yield* node ? new Stream(this.internals("write"), node, source, window).results() : this.inBatches(source, window);
  }

  /** Returns the response to one read. It reflects all commits of this object, unless the query has min_seq, at_seq or at_time. */
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
   * Yields every commit, in order, beginning after the commit `after`, until `signal` is aborted. A cursor keeps the position: a commit
   * counts as processed when the next one is requested. After a crash the commit that was being processed is yielded
   * again, so make your processing idempotent by its global_seq.
   */
  async *feed(o: { after?: Integer; cursor?: Cursor; signal?: AbortSignal } = {}): AsyncGenerator<Commit> {
    let after = o.after ?? 0;
    const kept = (await o.cursor?.load()) ?? 0;
    if (kept > after) after = kept;
    const tries = new Tries(this.internals("read"), Infinity);
    for (let going = true; going && !o.signal?.aborted;) {
      const base = this.base("read");
      let failure: unknown = null;
      try {
        for await (const commit of this.events(base, after, o.signal)) {
          tries.progress();
          yield commit;
          after = commit.global_seq;
          await o.cursor?.save(after).catch((e) => { throw new LedgerError(`the position ${after} could not be saved: ${e}`); });
        }
      } catch (e) {
        if (e instanceof LedgerError) throw e;
        if (o.signal?.aborted) return;
        failure = e;
      }
      going = await tries.again(base, failure, o.signal);
    }
  }

  private async *events(base: string, after: Integer, signal?: AbortSignal): AsyncGenerator<Commit> {
    const silence = new AbortController(); // the daemon sends a comment every 15 s
    const abort = () => silence.abort();
    signal?.addEventListener("abort", abort);
    let timer = setTimeout(abort, 45_000);
    try {
      const response = await fetch(base + "/v1/read/commits", {
        headers: { ...this.headers, Accept: "text/event-stream", "Last-Event-ID": String(after) }, signal: silence.signal,
      });
      if (response.status !== 200 || !response.headers.get("Content-Type")?.startsWith("text/event-stream")) {
        throw failureOf(base, response.status, response.headers.get("Retry-After"), parseAnswer(await response.text()));
      }
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
    if (!result.global_seq) throw new OutcomeUnknown("the response is not a commit result", String(body.idempotency_key));
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
      const key = batch[0].idempotency_key;
      const answer = await this.call("write", "POST", "/v1/commit/batch", { transactions: batch as unknown as Json }, key);
      const results = answer.results as JsonObject[];
      if (!Array.isArray(results) || results.length !== batch.length) throw new OutcomeUnknown("the response does not have the results of the batch", key);
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

  /** Sends a request until it has a final response, or time runs out. Only a request with a key changes anything. */
  private async call(
    kind: "write" | "read", method: string, path: string, body?: JsonObject, key = body?.idempotency_key as string | undefined,
  ): Promise<JsonObject> {
    const tries = new Tries(this.internals(kind), this.giveUp);
    const text = body && stringifyJson(body);
    let unknown = false, last = "";
    for (let going = true; going;) {
      const base = this.base(kind);
      let failure: unknown;
      try {
        const response = await fetch(base + path, {
          method, body: text, signal: AbortSignal.timeout(this.timeout), redirect: "manual",
          headers: text ? { ...this.headers, "Content-Type": "application/json" } : this.headers,
        });
        const answer = parseAnswer(await response.text());
        if (response.status === 200 && answer) return answer;
        const error = failureOf(base, response.status, response.headers.get("Retry-After"), answer);
        [failure, last] = [error, error.message];
      } catch (e) {
        [failure, last] = [e, `${base}: ${e}`];
      }
      if (failure instanceof Refused) throw failure;
      unknown ||= !(failure instanceof Later ? NOTHING_DONE.includes(failure.code) : refusedConnection(failure));
      if (failure instanceof Unavailable) break; // not a response from the ledger: a retry would get the same
      going = await tries.again(base, failure);
    }
    if (key !== undefined && unknown) throw new OutcomeUnknown(last, key);
    throw new Unavailable(last);
  }

  private base(kind: "write" | "read"): string {
    return this.bases[kind][this.preferred[kind] % this.bases[kind].length];
  }

  private internals(kind: "write" | "read") {
    return {
      base: () => this.base(kind), count: this.bases[kind].length, verdict: (r: JsonObject) => this.verdict(r),
      passOver: (failed: string) => { if (this.base(kind) === failed) this.preferred[kind]++; }, // otherwise another call has moved on already
      headers: this.headers, timeout: this.timeout, giveUp: this.giveUp,
    };
  }
}

type Internals = ReturnType<Ledger["internals"]>;

/** The attempts of one call, each at the next address. */
class Tries {
  private ledger: Internals;
  private giveUp: number;
  private end = 0;
  private pauses = 0;
  private passed = 0;

  constructor(ledger: Internals, giveUp: number) {
    this.ledger = ledger;
    this.giveUp = giveUp;
    this.progress();
  }

  progress() {
    [this.end, this.pauses, this.passed] = [Date.now() + this.giveUp, 0, 0];
  }

  /**
   * Prepares for the next attempt, and returns false if there is no time for one. If the daemon can't be
   * at this address (connection refused, or not the writer), there is a pause only after all addresses have been tried.
   */
  async again(failed: string, failure: unknown, signal?: AbortSignal): Promise<boolean> {
    this.ledger.passOver(failed);
    const { code, retryAfter } = failure instanceof Later ? failure : { code: "", retryAfter: null };
    if (++this.passed < this.ledger.count && (code === "NotTheWriter" || refusedConnection(failure))) return true;
    this.passed = 0;
    let wait = (0.5 + Math.random() / 2) * Math.min(MAX_BACKOFF, 20 * 2 ** Math.max(0, ++this.pauses - 4)); // the first four are short
    if (retryAfter && /^\d+$/.test(retryAfter) && !HANDS_OVER.includes(code)) wait = Math.min(Number(retryAfter), MAX_RETRY_AFTER) * 1000 * (1 + Math.random() / 2);
    if (Date.now() + wait > this.end) return false;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, wait);
      signal?.addEventListener("abort", done);
      function done() {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      }
    });
    return true;
  }
}

/** An error response to a request that may succeed on a retry. The code is "" if the response did not come from the ledger. */
class Later extends Error {
  readonly code: string;
  readonly retryAfter?: string | null;
  constructor(message: string, code: string, retryAfter?: string | null) {
    super(message);
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

/** One run of commitAll over streams. */
class Stream {
  private ledger: Internals;
  private node: any;
  private source: AsyncIterator<Transaction>;
  private window: number;
  private unanswered: Transaction[] = []; // in the order of sending
  private doubtful = 0; // how many of these, counted from the oldest, may have taken effect
  private exhausted = false;
  private sourceFailure: [unknown] | null = null;

  constructor(ledger: Internals, node: any, source: AsyncIterator<Transaction>, window: number) {
    this.ledger = ledger;
    this.node = node;
    this.source = source;
    this.window = window;
  }

  async *results(): AsyncGenerator<[Transaction, CommitResult | Refused]> {
    const tries = new Tries(this.ledger, this.ledger.giveUp);
    while (!this.exhausted || this.unanswered.length) {
      const base = this.ledger.base();
      let failure: unknown = new Error("the stream ended early");
      try {
        for await (const answered of this.connection(base)) {
          tries.progress();
          yield answered;
        }
        if (this.exhausted && !this.unanswered.length) break;
      } catch (e) {
        if (e instanceof LedgerError) this.fail(e);
        failure = e;
      }
      if (!(await tries.again(base, failure))) this.fail(new Unavailable(String(failure)));
    }
    if (this.sourceFailure) throw this.sourceFailure[0];
  }

  private fail(e: LedgerError): never {
    if (this.doubtful) throw new OutcomeUnknown(String(e), this.unanswered[0].idempotency_key);
    throw e;
  }

  /** Opens one stream, and yields [transaction, result] until it ends. */
  private async *connection(base: string): AsyncGenerator<[Transaction, CommitResult | Refused]> {
    const url = new URL(base + "/v1/commit/stream");
    const http = url.protocol === "https:" ? await import("node:https" as string) : this.node;
    const request = http.request(url, {
      method: "POST", timeout: this.ledger.timeout, headers: { ...this.ledger.headers, "Content-Type": "application/x-ndjson" },
    });
    request.on("timeout", () => request.destroy(new Error("the daemon sends nothing")));
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
        throw failureOf(base, response.statusCode, response.headers["retry-after"], parseAnswer(text));
      }
      if (this.unanswered.length) request.write(lines(this.unanswered));
      yield* this.receive(request, response);
      if (broken) throw broken;
    } finally {
      request.destroy();
    }
  }

  private async *receive(request: any, response: any): AsyncGenerator<[Transaction, CommitResult | Refused]> {
    let rest = "", answered = 0;
    await this.refill(request);
    if (!this.unanswered.length) return;
    const doubtful = this.doubtful;
    this.doubtful = this.unanswered.length;
    for await (const piece of response.setEncoding("utf8")) {
      const results = (rest + piece).split("\n");
      rest = results.pop()!;
      for (const line of results) {
        const result = parseJson(line), error = result.error as JsonObject | undefined;
        if (error && (error.details as JsonObject).lines_answered === answered) { // it says why the daemon ends the stream
          this.doubtful = Math.max(0, doubtful - answered); // the daemon has executed no further line
          if (error.code === "Unauthorized" || error.code === "Forbidden") throw new Refused(0, error);
          return;
        }
        if (error && AGAIN.includes(String(error.code))) return;
        answered++;
        this.doubtful--;
        yield [this.unanswered.shift()!, this.ledger.verdict(result)];
      }
      await this.refill(request);
      this.doubtful = this.unanswered.length;
      if (this.exhausted && !this.unanswered.length) return;
    }
  }

  private async refill(request: any) {
    const fresh: Transaction[] = [];
    while (!this.exhausted && this.unanswered.length < this.window) {
      let next: IteratorResult<Transaction> = { done: true, value: undefined };
      try {
        next = await this.source.next();
      } catch (e) {
        this.sourceFailure = [e]; // thrown after the transactions before it are committed
      }
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

/**
 * A cursor in a file, for Node and Deno. A save replaces the file atomically, and is durable when it returns (except on
 * Windows, which can't sync folders: after a power cut the file may have the previous position).
 */
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
      const [{ open, rename }, { dirname }, { platform }] = await Promise.all([fs(), import("node:path" as string), import("node:os" as string)]);
      const sync = async (name: string, flags: string, text?: string) => {
        const file = await open(name, flags);
        try {
          if (text) await file.writeFile(text);
          await file.sync();
        } finally {
          await file.close();
        }
      };
      await sync(path + ".tmp", "w", seq + "\n");
      await rename(path + ".tmp", path);
      if (platform() !== "win32") await sync(dirname(path), "r");
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

/** Returns the JSON object of a response, or null if it has none, because it did not come from the ledger. */
function parseAnswer(text: string): JsonObject | null {
  try {
    const answer: Json = parseJson(text);
    return answer && typeof answer === "object" && !Array.isArray(answer) ? answer : null;
  } catch {
    return null;
  }
}

/** Returns the error for an error response. */
function failureOf(base: string, status: number, retryAfter: string | null | undefined, answer: JsonObject | null): Error {
  const error = (answer?.error ?? {}) as JsonObject, code = String(error.code ?? "");
  const message = code ? `${code}: ${error.message}` : `${base} returned ${status}, which is not a response from the ledger`;
  if (status >= 500 || code === "NotFresh") return new Later(message, code, retryAfter);
  return code ? new Refused(status, error) : new Unavailable(message);
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

/** Reports whether a connection was refused, so that nothing was sent. */
function refusedConnection(e: unknown): boolean {
  return ((e as any)?.cause ?? (e as any))?.code === "ECONNREFUSED";
}
