"""A client for the asset ledger. One file, Python 3.9 or later, standard library only: copy it.

    from ledger import Ledger, op, InsufficientBalance

    ledger = Ledger(write="http://127.0.0.1:8080", read="http://127.0.0.1:8081")
    try:
        ledger.commit([op("TransferFungible", from_container="wallet/7", to_container="shop",
                          class_id="EUR", key=0, quantity=2550)], key="order-17")
    except InsufficientBalance as e:
        print("only", e.details["available"], "cents left")
    print(ledger.read("/v1/read/container/shop/balances"))  # reflects the commit above

Retries can't commit anything twice: every commit has an idempotency key (a random one if you give
none), and all attempts of one call use the same key. Give your own key, and store it with the order
that the commit pays for, so that you can also repeat the call after your program has crashed.

write and read may also be lists of URLs: if a daemon does not respond, or is not the writer, the next one is tried.
A Ledger may be used by any number of threads.
"""

import http.client
import itertools
import json
import math
import os
import queue
import random
import socket
import ssl
import threading
import time
import urllib.parse
import uuid
from collections import deque

CODES = """MalformedJSON InvalidRequest UnknownOperation InvalidParameter IdempotencyKeyMismatch Unauthorized Forbidden
ContainerNotFound ClassNotFound InstanceNotFound HoldNotFound CommitNotFound NotFound MethodNotAllowed
ContainerAlreadyExists ClassAlreadyExists ShapeAlreadyExists HoldAlreadyExists NameTaken AlreadyReversed
IdempotencyConflict AlreadyAttached AlreadyPlaced SlotOccupied CellOccupied CommitArchived RequirementFailed
PayloadTooLarge UnsupportedMediaType RangeNotSatisfiable WrongContainerKind WrongClassKind InvalidQuantity InsufficientBalance
NotReversible StackHeld InvalidOperation UnregisteredClassShape ContainerNotEmpty SlotOutOfRange SlotEmpty
OutOfBounds CellEmpty GridFull StackNotFound NotAttached NotPlaced HasChildren WouldCreateCycle NotAttempted
NotFresh Internal Overloaded ShuttingDown LogUnavailable NotTheWriter"""

HANDS_OVER = ("ShuttingDown", "NotTheWriter")  # their Retry-After says nothing about the next writer
NOTHING_DONE = HANDS_OVER + ("Overloaded", "NotFresh")


class LedgerError(Exception):
    """Any failure of this client."""


class Unavailable(LedgerError):
    """No daemon accepted the request in time. Nothing was applied."""


class OutcomeUnknown(LedgerError):
    """The request may have taken effect: no response said whether it did. Repeat it with the same key."""

    def __init__(self, message, key=None):
        super().__init__(message)
        self.key = key


class _Later(OSError):
    """An error response to a request that may succeed on a retry. The code is None if the response did not come from the ledger."""

    def __init__(self, message, code, retry_after):
        super().__init__(message)
        self.code, self.retry_after = code, retry_after


class Refused(LedgerError):
    """The ledger rejected the request, and nothing changed. There is a subclass for each code."""

    def __init__(self, status, error):
        super().__init__(error.get("message", ""))
        self.status = status  # the HTTP status; 0 for a result of commit_all
        self.code = error.get("code", "")
        self.details = error.get("details") or {}
        self.operation_index = error.get("operation_index")


for _code in CODES.split():
    globals()[_code] = type(_code, (Refused,), {"__doc__": "The code %s; see docs/api.md." % _code})


def refusal(status, error):
    """Returns the exception for an error object of the API."""
    kind = globals().get(error.get("code", ""), Refused)
    if not (isinstance(kind, type) and issubclass(kind, Refused)):
        kind = Refused
    return kind(status, error)


def op(name, /, **args):
    """Returns one operation: op("AddFungible", container_id="shop", class_id="EUR", key=0, quantity=5)."""
    return {"op": name, "args": args}


def new_key():
    """Returns a random idempotency key."""
    return str(uuid.uuid4())


class Ledger:
    """A connection to one ledger.

    write, read  URL or list of URLs of write and read daemons
    token        bearer token, if the daemons require one
    ca           PEM file of the root certificate, for https
    timeout      seconds that an attempt waits for a connection, or for more of a response
    give_up      seconds without success until a call ends with Unavailable or OutcomeUnknown; feed has no such limit
    """

    def __init__(self, write="http://127.0.0.1:8080", read="http://127.0.0.1:8081", token=None, ca=None,
                 timeout=30.0, give_up=60.0):
        self._bases = {"write": _addresses(write), "read": _addresses(read)}
        self._preferred = {"write": 0, "read": 0}
        self._headers = {"Authorization": "Bearer " + token} if token else {}
        self._tls = ssl.create_default_context(cafile=ca) if ca else None
        self._timeout, self._give_up = timeout, give_up
        self._local = threading.local()
        self._lock = threading.Lock()
        self.last_seq = 0  # highest global_seq that this object has committed

    # Commits

    def commit(self, operations, key=None, metadata=None):
        """Commits operations atomically. Returns {"global_seq", "batch_seq", "minted_instances", "metadata"}."""
        return self._post("/v1/commit", _transaction(operations, key, metadata))

    def reverse(self, global_seq, key=None, metadata=None):
        """Reverses a commit with a new commit, and returns the result of the new one as commit does."""
        body = _transaction(None, key, metadata)
        return self._post("/v1/commit/%d/reverse" % global_seq, body)

    def preflight(self, operations):
        """Checks operations without applying them. Returns {"at_seq", "minted_instances"}, or raises what commit would.

        It changes nothing, so it raises Unavailable instead of OutcomeUnknown."""
        return self._call("write", "POST", "/v1/commit/preflight", {"operations": operations})

    def commit_all(self, transactions, window=1024):
        """Commits many transactions over one stream (over https: in batches). Each transaction is atomic.

        transactions is an iterable of tuples (operations, key, metadata), or of dicts as for /v1/commit. Yields, in order,
        pairs (transaction, result), where result is a commit result or a Refused. At most `window` transactions are unanswered at a time.
        If the connection breaks, it is opened again, and unanswered transactions are sent again with their keys."""
        source = (tx if isinstance(tx, dict) else _transaction(*tx) for tx in transactions)
        if self._tls or any(base.startswith("https:") for base in self._bases["write"]):
            return self._in_batches(source, window)  # only one thread at a time can use a TLS socket in Python
        return _Stream(self, source, window).results()

    # Reads

    def read(self, path, **query):
        """Returns the response to one read: read("/v1/read/container/7").

        It reflects all commits of this object, unless you pass min_seq, at_seq or at_time."""
        return self._call("read", "GET", path + self._query(query))

    def items(self, path, **query):
        """Yields the entries of a list, page by page: items("/v1/read/container/7/balances")."""
        while True:
            page = self.read(path, **query)
            page = page.get("data", page)
            for entries in page.values():
                if isinstance(entries, list):
                    yield from entries
            if not page.get("next_cursor"):
                return
            query["cursor"] = page["next_cursor"]

    def feed(self, after=0, cursor=None):
        """Yields every commit, in order and without end, beginning after the commit whose global_seq is `after`.

        cursor names a file that keeps the position: a commit counts as processed when the next one is requested. After
        a crash the commit that was being processed is yielded again, so make your processing idempotent by its global_seq."""
        if cursor:
            after = max(after, _load_cursor(cursor))
        tries = _Tries(self, "read", math.inf)
        while True:
            base, failure = self._base("read"), None
            try:
                for commit in self._events(base, after):
                    tries.progress()
                    yield commit
                    after = commit["global_seq"]
                    if cursor:
                        _save_cursor(cursor, after)
            except (OSError, http.client.HTTPException, ValueError) as e:
                failure = e
            tries.again(base, failure)

    # Internals

    def _post(self, path, body):
        key = body["idempotency_key"]
        result = self._call("write", "POST", path, body, key)
        if "global_seq" not in result:
            raise OutcomeUnknown("the response is not a commit result", key)
        self._committed(result)
        return result

    def _in_batches(self, source, size):
        while True:
            batch = list(itertools.islice(source, size))
            if not batch:
                return
            for tx in batch:
                tx["idempotency_key"] = tx.get("idempotency_key") or new_key()
            key = batch[0]["idempotency_key"]
            results = self._call("write", "POST", "/v1/commit/batch", {"transactions": batch}, key).get("results")
            if not isinstance(results, list) or len(results) != len(batch):
                raise OutcomeUnknown("the response does not have the results of the batch", key)
            for tx, result in zip(batch, results):
                self._committed(result)
                yield tx, refusal(0, result["error"]) if "error" in result else result

    def _committed(self, result):
        with self._lock:
            self.last_seq = max(self.last_seq, result.get("global_seq", 0))

    def _query(self, query):
        if self.last_seq and "min_seq" not in query and "at_seq" not in query and "at_time" not in query:
            query["min_seq"] = self.last_seq
        query = {k: v for k, v in query.items() if v is not None}
        return "?" + urllib.parse.urlencode(query) if query else ""

    def _call(self, kind, method, path, body=None, key=None):
        """Sends a request until it has a final response, or time runs out. Only a request with a key changes anything."""
        tries, unknown, going = _Tries(self, kind, self._give_up), False, True
        data = _dump(body) if body is not None else None
        while going:
            base = self._base(kind)
            try:
                return self._attempt(base, method, path, data)
            except Unavailable as e:  # not a response from the ledger: a retry would get the same
                failure, unknown, going = e, True, False
            except _Later as e:
                failure, unknown = e, unknown or e.code not in NOTHING_DONE
            except (OSError, http.client.HTTPException) as e:
                failure, unknown = e, unknown or not isinstance(e, ConnectionRefusedError)
                self._drop(base)
            going = going and tries.again(base, failure)
        if key is not None and unknown:
            raise OutcomeUnknown(str(failure), key)
        raise Unavailable(str(failure))

    def _attempt(self, base, method, path, data):
        conn = self._connection(base)
        headers = dict(self._headers)
        if data is not None:
            headers["Content-Type"] = "application/json"
        conn.request(method, path, body=data, headers=headers)
        response = conn.getresponse()
        answer = _answer(response)
        if response.getheader("Connection") == "close":
            self._drop(base)
        if response.status == 200 and answer is not None:
            return answer
        raise _failure(base, response, answer)

    def _events(self, base, after):
        conn = self._connect(base, timeout=45)  # the daemon sends a comment every 15 s
        try:
            conn.request("GET", "/v1/read/commits", headers=dict(
                self._headers, Accept="text/event-stream", **{"Last-Event-ID": str(after)}))
            response = conn.getresponse()
            if response.status != 200 or response.headers.get_content_type() != "text/event-stream":
                raise _failure(base, response, _answer(response))
            for line in iter(response.readline, b""):
                if line.startswith(b"data:"):
                    yield json.loads(line[5:])
        finally:
            conn.close()

    def _base(self, kind):
        return self._bases[kind][self._preferred[kind] % len(self._bases[kind])]

    def _pass_over(self, kind, failed):
        with self._lock:
            if self._base(kind) == failed:  # otherwise another thread has moved on already
                self._preferred[kind] += 1

    def _connection(self, base):
        conns = self._local.__dict__.setdefault("conns", {})
        if base not in conns:
            conns[base] = self._connect(base, self._timeout)
        return conns[base]

    def _drop(self, base):
        conn = self._local.__dict__.get("conns", {}).pop(base, None)
        if conn:
            conn.close()

    def _connect(self, base, timeout):
        url = urllib.parse.urlsplit(base)
        if url.scheme == "https":
            return http.client.HTTPSConnection(url.hostname, url.port or 443, timeout=timeout, context=self._tls)
        return http.client.HTTPConnection(url.hostname, url.port or 80, timeout=timeout)


class _Tries:
    """The attempts of one call, each at the next address."""

    MAX_BACKOFF, MAX_RETRY_AFTER = 5.0, 30

    def __init__(self, ledger, kind, give_up):
        self.ledger, self.kind, self.give_up = ledger, kind, give_up
        self.progress()

    def progress(self):
        self.end, self.pauses, self.passed = time.monotonic() + self.give_up, 0, 0

    def again(self, failed, failure):
        """Prepares for the next attempt, and returns False if there is no time for one.

        If the daemon can't be at this address (connection refused, or not the writer), there is a pause only
        after all addresses have been tried."""
        self.ledger._pass_over(self.kind, failed)
        self.passed += 1
        code, retry_after = getattr(failure, "code", None), getattr(failure, "retry_after", None)
        elsewhere = isinstance(failure, ConnectionRefusedError) or code == "NotTheWriter"
        if elsewhere and self.passed < len(self.ledger._bases[self.kind]):
            return True
        self.passed, self.pauses = 0, self.pauses + 1
        wait = random.uniform(0.5, 1.0) * min(self.MAX_BACKOFF, 0.02 * 2 ** max(0, min(self.pauses, 20) - 4))  # the first four are short
        if retry_after and retry_after.isdigit() and code not in HANDS_OVER:
            wait = min(int(retry_after), self.MAX_RETRY_AFTER) * random.uniform(1.0, 1.5)
        if time.monotonic() + wait > self.end:
            return False
        time.sleep(wait)
        return True


class _Stream:
    """One run of commit_all: a thread sends lines, the caller's thread reads results."""

    # With one of these results, a line was not executed, or can safely be sent again because of its key.
    AGAIN = ("Overloaded", "ShuttingDown", "LogUnavailable", "NotTheWriter", "Internal")

    def __init__(self, ledger, transactions, window):
        self.ledger, self.window = ledger, window
        self.source = iter(transactions)
        self.unanswered = deque()  # in the order of sending
        self.doubtful = 0  # how many of these, counted from the oldest, may have taken effect
        self.exhausted = False
        self.source_failure = None  # the exception that source raised

    def results(self):
        tries = _Tries(self.ledger, "write", self.ledger._give_up)
        while self.unanswered or not self.exhausted:
            base, failure = self.ledger._base("write"), OSError("the stream ended early")
            try:
                for answered in self._connection(base):
                    tries.progress()
                    yield answered
                if not self.unanswered and self.exhausted:
                    break
            except (Refused, Unavailable) as e:
                self._fail(e)
            except (OSError, http.client.HTTPException, ValueError) as e:
                failure = e
            if not tries.again(base, failure):
                self._fail(Unavailable(str(failure)))
        if self.source_failure:
            raise self.source_failure

    def _fail(self, error):
        if self.doubtful:
            raise OutcomeUnknown(str(error), self.unanswered[0]["idempotency_key"]) from error
        raise error

    def _connection(self, base):
        """Opens one stream, and yields (transaction, result) until it ends."""
        conn = self.ledger._connect(base, self.ledger._timeout)
        outbox, stop = queue.SimpleQueue(), threading.Event()
        sender = None
        conn.connect()
        sock = conn.sock.dup()  # http.client drops its own when the response says that the connection will close
        try:
            conn.putrequest("POST", "/v1/commit/stream")
            for name, value in self.ledger._headers.items():
                conn.putheader(name, value)
            conn.putheader("Content-Type", "application/x-ndjson")
            conn.putheader("Transfer-Encoding", "chunked")
            conn.endheaders()
            response = conn.getresponse()  # its headers come before any line is sent
            if response.status != 200:
                raise _failure(base, response, _answer(response))
            sender = threading.Thread(target=_send, args=(sock, outbox, stop), daemon=True)
            sender.start()
            for tx in self.unanswered:
                outbox.put(tx)
            yield from self._receive(response, outbox)
        finally:
            stop.set()
            outbox.put(None)
            try:
                sock.shutdown(socket.SHUT_RDWR)  # ends a blocked send
            except OSError:
                pass
            sock.close()
            conn.close()
            if sender:
                sender.join()

    def _receive(self, response, outbox):
        self._refill(outbox)
        doubtful, self.doubtful = self.doubtful, len(self.unanswered)
        answered = 0
        while self.unanswered:
            line = response.readline()
            if not line:
                return
            if not line.endswith(b"\n"):
                raise ValueError("the stream of results was cut short")
            result = json.loads(line)
            error = result.get("error")
            if error and error["details"].get("lines_answered") == answered:  # it says why the daemon ends the stream
                self.doubtful = max(0, doubtful - answered)  # the daemon has executed no further line
                if error["code"] in ("Unauthorized", "Forbidden"):
                    raise refusal(0, error)
                return
            if error and error["code"] in self.AGAIN:
                return
            tx = self.unanswered.popleft()
            answered += 1
            if not error:
                self.ledger._committed(result)
            yield tx, refusal(0, error) if error else result
            self._refill(outbox)
            self.doubtful = len(self.unanswered)

    def _refill(self, outbox):
        while not self.exhausted and len(self.unanswered) < self.window:
            try:
                tx = next(self.source)
            except Exception as e:
                self.exhausted = True
                self.source_failure = None if isinstance(e, StopIteration) else e  # raised after the transactions before it are committed
                break
            tx["idempotency_key"] = tx.get("idempotency_key") or new_key()
            self.unanswered.append(tx)
            outbox.put(tx)
        if self.exhausted:
            outbox.put(None)  # the end of the body


def _send(sock, outbox, stop):
    """Sends transactions as lines in chunks, until it gets None."""
    try:
        while not stop.is_set():
            tx, lines = outbox.get(), []
            while tx is not None:
                lines.append(_dump(tx) + b"\n")
                if len(lines) == 256 or outbox.empty():
                    break
                tx = outbox.get()
            if stop.is_set():
                return
            data = b"".join(lines)
            if data:
                sock.sendall(b"%x\r\n%s\r\n" % (len(data), data))
            if tx is None:
                sock.sendall(b"0\r\n\r\n")
                return
    except OSError:
        pass  # the thread that reads the results reports it


def _transaction(operations, key=None, metadata=None):
    body = {"idempotency_key": key or new_key()}
    if operations is not None:
        body["operations"] = list(operations)
    if metadata is not None:
        body["metadata"] = metadata
    return body


def _dump(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _answer(response):
    """Returns the JSON object of a response, or None if it has none, because it did not come from the ledger."""
    text = response.read()
    try:
        answer = json.loads(text)
    except ValueError:
        if not response.chunked and response.length is None:  # http.client doesn't notice headers that were cut short
            raise http.client.HTTPException("the end of the response is missing")
        return None
    return answer if isinstance(answer, dict) else None


def _failure(base, response, answer):
    """Returns the exception for an error response."""
    error = (answer or {}).get("error")
    code = error.get("code") if isinstance(error, dict) else None
    message = "%s: %s" % (code, error.get("message")) if code else "%s returned %d, which is not a response from the ledger" % (base, response.status)
    if response.status >= 500 or code == "NotFresh":
        return _Later(message, code, response.getheader("Retry-After"))
    return refusal(response.status, error) if code else Unavailable(message)


def _addresses(urls):
    return [u.rstrip("/") for u in ([urls] if isinstance(urls, str) else list(urls))]


def _load_cursor(path):
    try:
        with open(path) as f:
            return int(f.read())
    except FileNotFoundError:
        return 0


def _save_cursor(path, seq):
    temporary = path + ".tmp"
    try:
        with open(temporary, "w") as f:
            f.write("%d\n" % seq)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, path)
        if os.name != "nt":  # Windows can't sync folders
            folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as e:
        raise LedgerError("the position %d could not be saved: %s" % (seq, e)) from e
