package ledger

import (
	"strings"
	"testing"
)

func TestParseOpWords(t *testing.T) {
	tests := []struct{ words, json string }{
		{"TransferFungible from_container=1 to_container=2 class_id=1 key=0 quantity=5",
			`{"op":"TransferFungible","args":{"from_container":1,"to_container":2,"class_id":1,"key":0,"quantity":5}}`},
		{"  CreateContainer\tkind=Standard owner=null\ncontainer_id=4 ", `{"op":"CreateContainer","args":{"container_id":4,"kind":"Standard","owner":null}}`},
		{`RegisterClass class_id=1 name="two \"words\" \\ here" fungible=false`,
			`{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"two \"words\" \\ here","fungible":false}}}`},
		{`RegisterClass class_id=1 "name=two words"`, `{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"two words"}}}`},
		{`RegisterClass class_id=1 name=a=b`, `{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"a=b"}}}`},
		{`RegisterClass class_id=1 name=null`, `{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"null"}}}`},
		{"RegisterClassShape class_id=1 key=null width=2 height=3", `{"op":"RegisterClassShape","args":{"request":{"class_id":1,"key":null,"width":2,"height":3}}}`},
		{"Attach instance_id=minted:12 parent_id=3", `{"op":"Attach","args":{"instance_id":{"minted":12},"parent_id":3}}`},
		{"TransferFungible from_container=users/1 to_container=7f3a-11 class_id=EUR key=0 quantity=5",
			`{"op":"TransferFungible","args":{"from_container":"users/1","to_container":"7f3a-11","class_id":"EUR","key":0,"quantity":5}}`},
		{"CreateContainer kind=Standard name=users/1", `{"op":"CreateContainer","args":{"kind":"Standard","name":"users/1"}}`},
		{"CreateContainer kind=grid name=a grid_width=1 grid_height=1", `{"op":"CreateContainer","args":{"kind":"Grid","grid_width":1,"grid_height":1,"name":"a"}}`},
		{"RenameContainer container_id=null name=null", `{"op":"RenameContainer","args":{"container_id":"null","name":null}}`},
		{"RenameClass code=EUR class_id=1 name=\"a b\"", `{"op":"RenameClass","args":{"class_id":1,"name":"a b","code":"EUR"}}`},
		{"RemoveFungible container_id=1 class_id=1 key=0 quantity=-3", `{"op":"RemoveFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":-3}}`},
	}
	for _, tt := range tests {
		op, err := ParseOpWords(tt.words)
		if err != nil {
			t.Errorf("%s: %v", tt.words, err)
		} else if got := string(appendOperation(nil, &op)); got != tt.json {
			t.Errorf("%s: %s, want %s", tt.words, got, tt.json)
		}
	}
}

func TestParseOpWordsErrors(t *testing.T) {
	tests := []struct{ words, want string }{
		{"", "no operation"},
		{"Transfer a=1", "TransferFungible, MergeStacks"},
		{"BurnInstance", "instance_id is missing"},
		{"BurnInstance 5", `word "5": it should be name=value; the arguments are instance_id`},
		{"BurnInstance id=5", `there is no argument named "id"; the arguments are instance_id`},
		{"BurnInstance instance_id=5 instance_id=5", "given twice"},
		{"BurnInstance instance_id=x", `word "instance_id=x": instance_id must be an integer from 1 to 9223372036854775807, or minted:n`},
		{"AddFungible container_id=1 class_id=1 key=0 quantity=1.50", "whole minor units"},
		{"AddFungible container_id=1 class_id=1 key=0 quantity=01", "quantity must be an integer of at most 9223372036854775807, without leading zeros"},
		{"AddFungible container_id=1 class_id=1 key=0 quantity=-05", ", without leading zeros"},
		{"AddFungible container_id=1 class_id=1 key=0 quantity=1e3", "quantity must be an integer of at most 9223372036854775807, without an exponent"},
		{"AddFungible container_id=1 class_id=1 key=0 quantity=9223372036854775808", "quantity must be an integer of at most 9223372036854775807"},
		{"BurnInstance instance_id=", "instance_id must be"},
		{"BurnInstance instance_id=1.5", "instance_id must be"},
		{"BurnInstance instance_id=01", "instance_id must be"},
		{"BurnInstance instance_id=5,", "instance_id must be"},
		{"BurnInstance instance_id=minted:x", "instance_id must be"},
		{`BurnInstance instance_id=minted:0,"x":1`, "instance_id must be"},
		{"BurnInstance instance_id=minted:-1", "instance_id must be"},
		{`RegisterClass class_id=1 name="x`, "unmatched double quote"},
		{"RegisterClass class_id=1 name=\xff", "not UTF-8"},
		{`RegisterClass class_id=1 name=""`, "name must be a string of 1 to 128"},
		{"RegisterClass class_id=1 name=x fungible=yes", "fungible must be true or false"},
		{"RegisterClass request=1", `there is no argument named "request"`},
		{"CreateContainer container_id=1 kind=standart", `kind must be "Standard", "Slots" or "Grid"`},
		{"CreateContainer container_id=1 kind=Grid slot_count=4", "slot_count is for containers of kind Slots"},
		{"PlaceInGrid container_id=1 instance_id=2 x=1", "y is missing"},
		{"RemoveContainer container_id=1.5", "container_id must be an integer from 1"},
		{"RemoveContainer container_id=-1", "container_id must be an integer from 1"},
		{"RemoveContainer container_id=01", "container_id must be an integer from 1"},
		{"RemoveContainer container_id=/a", "or a name: 1 to 128"},
		{"RenameClass class_id=1", "name is missing"},
	}
	for _, tt := range tests {
		if _, err := ParseOpWords(tt.words); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.words, err, tt.want)
		}
	}
}
