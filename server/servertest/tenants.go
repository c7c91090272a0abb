package servertest

import (
	"fmt"
	"testing"

	"assetledger/server/auth"
)

// Fuzz targets send whole requests to whole daemons, as a client limited to
// owner 7 and as unknown clients. What owner 8 owns is marked. No such request
// may ever show or change it.
const (
	// Mark is the quantity, in digits, of a stack of owner 8.
	Mark = "4242424242"
	// OfEight is a transaction that creates what both owners own.
	OfEight = `{"operations":[
	{"op":"CreateContainer","args":{"container_id":7,"kind":"Standard","owner":7}},
	{"op":"CreateContainer","args":{"container_id":77,"kind":"Slots","slot_count":4,"owner":7}},
	{"op":"CreateContainer","args":{"container_id":8,"kind":"Standard","owner":8}},
	{"op":"CreateContainer","args":{"container_id":88,"kind":"Grid","owner":8}},
	{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"Gold"}}},
	{"op":"RegisterClass","args":{"request":{"class_id":2,"name":"Sword","fungible":false}}},
	{"op":"RegisterClassShape","args":{"request":{"class_id":2,"width":1,"height":1}}},
	{"op":"AddFungible","args":{"container_id":7,"class_id":1,"key":0,"quantity":1000}},
	{"op":"MintInstance","args":{"class_id":2,"container_id":77,"slot_index":0}},
	{"op":"MintInstance","args":{"class_id":2,"container_id":88}},
	{"op":"AddFungible","args":{"container_id":8,"class_id":1,"key":0,"quantity":4242424242}}],"idempotency_key":"eight","metadata":{"secret":4242424242}}`
	// IsEights is a transaction that is accepted only while containers 8 and 88
	// hold exactly what OfEight put into them.
	IsEights = `{"operations":[{"op":"RemoveFungible","args":{"container_id":8,"class_id":1,"key":0,"quantity":4242424242}},{"op":"RemoveContainer","args":{"container_id":8}},
	{"op":"RequireInstance","args":{"instance_id":2,"container_id":88}},{"op":"BurnInstance","args":{"instance_id":2}},{"op":"RemoveContainer","args":{"container_id":88}}]}`
)

// Tenants returns the tokens of the clients: "s" is limited to owner 7, and
// "a-long-secret" is an administrator.
func Tenants(t testing.TB) *auth.Table {
	hash := func(token string) string { return fmt.Sprintf("sha256:%x", auth.HashToken(token)) }
	table, err := auth.Parse("seven " + hash("s") + " commit,read owners=7\nadmin " + hash("a-long-secret") + " admin\n")
	if err != nil {
		t.Fatal(err)
	}
	table.Mode = 0o600
	return table
}
