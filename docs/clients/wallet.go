// Wallet is a wallet service on the asset ledger: the smallest back end that moves money safely.
//
//	go run wallet.go -write http://127.0.0.1:8080 -read http://127.0.0.1:8081 -listen 127.0.0.1:9000
//
//	POST /users/ada                                      opens a wallet
//	POST /users/ada/deposits  {"id":"d1","amount":"12.50"}   money comes in from outside
//	POST /payments  {"id":"p1","from":"ada","to":"bo","amount":"5.00"}
//	GET  /users/ada                                      {"user":"ada","balance":"7.50"}
//	GET  /users/ada/history                              newest first
//
// The idempotency key of a deposit or payment contains its id: a client that got no response can safely send the same request again.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"

	"assetledger/ctl/client"
)

const currency = "EUR" // with two decimals

type wallets struct{ *client.Client }

// An order is the body of a request.
type order struct{ ID, From, To, Amount string }

// A reply is the body of a response, or an entry of a list in it. Empty fields are
// omitted, except that a history always has its Entries.
type reply struct {
	ID      string  `json:"id,omitempty"`
	User    string  `json:"user,omitempty"`
	Commit  int64   `json:"commit,omitempty"`
	At      string  `json:"at,omitempty"`
	Change  string  `json:"change,omitempty"`
	Balance string  `json:"balance,omitempty"`
	Entries []reply `json:"entries,omitzero"`
	Error   string  `json:"error,omitempty"`
}

func (w wallets) do(ctx context.Context, key, op string, args client.Args) (client.Result, error) {
	return w.Commit(ctx, client.Tx{Key: key, Operations: []client.Operation{client.Op(op, args)}})
}

func (w wallets) open(r *http.Request, _ order) (reply, error) {
	user := r.PathValue("user")
	if isNone(user) {
		return reply{}, errBad
	}
	_, err := w.do(r.Context(), "wallet-service/open/"+user, "CreateContainer", client.Args{"kind": "Standard", "name": "wallet/" + user})
	return reply{User: user, Balance: show(0)}, err
}

func (w wallets) deposit(r *http.Request, o order) (reply, error) {
	return w.move(r, "deposit", o, "AddFungible", client.Args{"container_id": "wallet/" + r.PathValue("user")}, r.PathValue("user"))
}

func (w wallets) pay(r *http.Request, o order) (reply, error) {
	return w.move(r, "payment", o, "TransferFungible", client.Args{"from_container": "wallet/" + o.From, "to_container": "wallet/" + o.To}, o.From, o.To)
}

// move commits an operation with the amount of an order.
func (w wallets) move(r *http.Request, kind string, o order, op string, args client.Args, users ...string) (reply, error) {
	cents, err := o.cents()
	if err != nil || slices.ContainsFunc(users, isNone) {
		return reply{}, errBad
	}
	args["class_id"], args["key"], args["quantity"] = currency, 0, cents
	done, err := w.do(r.Context(), kind+"/"+o.ID, op, args)
	return reply{ID: o.ID, Commit: done.GlobalSeq}, err
}

func (w wallets) balance(r *http.Request, _ order) (reply, error) {
	user, sum := r.PathValue("user"), int64(0)
	for stack, err := range client.Items[struct{ Quantity int64 }](r.Context(), w.Client, path(user)+"/balances", url.Values{"class_id": {currency}}) {
		if err != nil {
			return reply{}, err
		}
		sum += stack.Quantity
	}
	return reply{User: user, Balance: show(sum)}, nil
}

func (w wallets) history(r *http.Request, _ order) (reply, error) {
	type change struct {
		Seq              int64  `json:"global_seq"`
		At               string `json:"committed_at"`
		Change, Quantity *int64
	}
	all := reply{User: r.PathValue("user"), Entries: []reply{}}
	for e, err := range client.Items[change](r.Context(), w.Client, path(all.User)+"/history", url.Values{"class_id": {currency}, "limit": {"50"}}) {
		if err != nil || len(all.Entries) == 50 {
			return all, err
		}
		if e.Change != nil {
			all.Entries = append(all.Entries, reply{Commit: e.Seq, At: e.At, Change: show(*e.Change), Balance: show(*e.Quantity)})
		}
	}
	return all, nil
}

var errNoPath, errBad = errors.New("no such path"), errors.New(`a user name is 1 to 64 of the characters A-Z a-z 0-9 . _ -; an order has an id and a positive amount such as "12.50"`)
var isUser, isAmount = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`), regexp.MustCompile(`^(\d{1,16})(?:\.(\d{1,2}))?$`)

func isNone(user string) bool { return !isUser.MatchString(user) }

func path(user string) string { return "/v1/read/container/" + url.PathEscape("wallet/"+user) }

// cents returns the amount of an order in cents. An amount with more decimals than the currency has is an error.
func (o order) cents() (cents int64, err error) {
	if m := isAmount.FindStringSubmatch(o.Amount); m != nil && o.ID != "" {
		cents, err = strconv.ParseInt(m[1]+(m[2] + "00")[:2], 10, 64)
	}
	if cents == 0 {
		err = errBad
	}
	return cents, err
}

func show(cents int64) string {
	if cents < 0 {
		return "-" + show(-cents)
	}
	return fmt.Sprintf("%d.%02d", cents/100, cents%100)
}

// failure returns the status and the message for an error.
func failure(err error) (status int, words string) {
	var refused *client.Refused
	switch code := client.Code(err); {
	case err == errBad:
		return 400, err.Error()
	case err == errNoPath:
		return 404, err.Error()
	case !errors.As(err, &refused) || refused.Status >= 500:
		return 503, "try again with the same id"
	case code == "ContainerNotFound":
		return 404, "no such user"
	case code == "InsufficientBalance", code == "StackNotFound":
		return 402, "not enough money"
	case code == "NameTaken", code == "IdempotencyConflict":
		return 409, code
	default:
		return 422, code
	}
}

// handler returns an HTTP handler that responds with the result of the function answer.
func handler(answer func(*http.Request, order) (reply, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		o, out, err := order{}, reply{}, errBad
		if bad := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&o); bad == nil || bad == io.EOF { // no body, no order
			out, err = answer(r, o)
		}
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			status, words := failure(err)
			w.WriteHeader(status)
			out = reply{Error: words}
		}
		text, _ := json.Marshal(out)
		w.Write(text)
	}
}

func main() {
	var o client.Options
	flag.StringVar(&o.Write, "write", "", "`URLS` of write daemons")
	flag.StringVar(&o.Read, "read", "", "`URLS` of read daemons")
	flag.StringVar(&o.Token, "token", "", "bearer `TOKEN`")
	listen := flag.String("listen", "127.0.0.1:9000", "`ADDRESS` to listen on")
	flag.Parse()
	w := wallets{client.New(o)}
	euro := client.Args{"request": client.Args{"name": "Euro", "code": currency, "decimals": 2}}
	_, err := w.do(context.Background(), "wallet-service/currency", "RegisterClass", euro)
	if err != nil && client.Code(err) != "NameTaken" { // NameTaken: another program has registered it
		log.Fatal(err)
	}
	http.HandleFunc("POST /users/{user}", handler(w.open))
	http.HandleFunc("POST /users/{user}/deposits", handler(w.deposit))
	http.HandleFunc("POST /payments", handler(w.pay))
	http.HandleFunc("GET /users/{user}", handler(w.balance))
	http.HandleFunc("GET /users/{user}/history", handler(w.history))
	http.HandleFunc("/", handler(func(*http.Request, order) (reply, error) { return reply{}, errNoPath }))
	ln, err := net.Listen("tcp", *listen)
	if err == nil {
		fmt.Printf("wallet service on http://%s\n", ln.Addr())
		err = http.Serve(ln, nil)
	}
	log.Fatal(err)
}
