package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"assetledger/ctl/client"
)

// newLedger starts a stand-in for ledger-write and ledger-read that always sends the same response.
func newLedger(body string) (daemons *httptest.Server) {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(body, `{"error"`) {
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
		if r.Header.Get("Accept") == "text/event-stream" {
			w.Header().Set("Content-Type", "text/event-stream")
			body = "data: " + body + "\n\n"
		}
		io.WriteString(w, body)
	}))
}

func ExampleClient_Commit() {
	daemons := newLedger(`{"error":{"code":"InsufficientBalance","message":"The stack has 5 available.","details":{"available":5,"requested":2550},"operation_index":0}}`)
	defer daemons.Close()

	ledger := client.New(client.Options{Write: daemons.URL, Read: daemons.URL})
	defer ledger.Close()
	pay := client.Op("TransferFungible", client.Args{
		"from_container": "wallet/7", "to_container": "shop", "class_id": "EUR", "key": 0, "quantity": 2550})
	done, err := ledger.Commit(context.Background(), client.Tx{Key: "order-17", Operations: []client.Operation{pay}})

	var refused *client.Refused
	var unknown *client.OutcomeUnknown
	switch {
	case err == nil:
		fmt.Println("paid in commit", done.GlobalSeq)
	case errors.As(err, &refused) && refused.Code == "InsufficientBalance":
		var details struct{ Available int64 }
		json.Unmarshal(refused.Details, &details)
		fmt.Println("only", details.Available, "cents left")
	case errors.As(err, &unknown):
		fmt.Println("try again later with the key", unknown.Key)
	default:
		fmt.Println(err)
	}
	// Output: only 5 cents left
}

func ExampleItems() {
	daemons := newLedger(`{"container_id":7,"balances":[{"class_id":1,"key":0,"quantity":9007199254740993}],"freshness":{"checkpoint_seq":3,"commit_log_seq":3}}`)
	defer daemons.Close()

	ledger := client.New(client.Options{Read: daemons.URL})
	defer ledger.Close()
	type balance struct {
		Key, Quantity int64
	}
	path := "/v1/read/container/" + url.PathEscape("wallet/7") + "/balances"
	for b, err := range client.Items[balance](context.Background(), ledger, path, url.Values{"class_id": {"EUR"}}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(b.Quantity)
	}
	// Output: 9007199254740993
}

func ExampleClient_Feed() {
	daemons := newLedger(`{"global_seq":1,"operations":[{"op":"CreateContainer"}]}`)
	defer daemons.Close()

	ledger := client.New(client.Options{Read: daemons.URL})
	defer ledger.Close()
	for commit, err := range ledger.Feed(context.Background(), client.FeedOptions{}) { // to continue after a restart, add Cursor: client.FileCursor("cursor")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(commit.GlobalSeq, string(commit.JSON))
		break
	}
	// Output: 1 {"global_seq":1,"operations":[{"op":"CreateContainer"}]}
}
