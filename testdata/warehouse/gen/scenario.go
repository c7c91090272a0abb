package main

import "fmt"

// Classes of the scenario.
const (
	euro     = 1 // minor units: cents
	points   = 2
	ore      = 3 // key: grade
	crate    = 4 // key: lot
	forklift = 5
	battery  = 6
	painting = 7 // key 1 is a large one
	label    = 8 // not for grids: no shape
)

// Containers of the scenario. The ids of the customers' wallets begin at firstWallet.
const (
	bank        = 1000
	firstWallet = 1001
	wallets     = 20
	bayNorth    = 2001
	baySouth    = 2002
	shelf       = 3001
	rail        = 3002 // a grid one cell high
	temporary   = 4001
)

// play writes the scenario, in the order of events in a real warehouse.
func play(b *book) {
	open(b)
	fill(b)
	trade(b)
	equip(b)
	hang(b)
	refusals(b)
	trade(b)
	closing(b)
}

// open registers the classes and creates the containers.
func open(b *book) {
	b.begin("open-classes", `{"by":"setup"}`)
	b.class(euro, "Euro", true, 2)
	b.class(points, "Loyalty point", true, 0)
	b.class(ore, "Copper ore", true, 3)
	b.class(crate, "Crate", true, 0)
	b.class(forklift, "Forklift", false, 0)
	b.class(battery, "Battery", false, 0)
	b.class(painting, "Painting", false, 0)
	b.class(label, "Label", true, 0)
	b.accepted()

	b.begin("open-shapes", "")
	b.shape(ore, anyKey, 1, 1)
	b.shape(crate, anyKey, 2, 2)
	b.shape(crate, 7, 3, 1)
	b.shape(painting, anyKey, 2, 1)
	b.shape(painting, 1, 3, 2)
	b.accepted()

	b.begin("open-bank", "")
	b.wallet(bank, 0)
	b.accepted()
	for i := range wallets {
		b.begin(fmt.Sprintf("open-wallet-%d", i+1), fmt.Sprintf(`{"customer":"C-%03d"}`, i+1))
		b.wallet(firstWallet+i, 501+i%7)
		b.accepted()
	}
	b.begin("open-bays", "")
	b.bay(bayNorth, 8)
	b.bay(baySouth, 64)
	b.shelf(shelf, 12, 8)
	b.shelf(rail, 20, 1)
	b.accepted()
}

// fill brings money and goods in.
func fill(b *book) {
	b.begin("issue-1", `{"approved":["A","B"],"amount":10000000}`)
	b.add(bank, euro, 0, 10_000_000)
	b.add(bank, points, 0, 500_000)
	b.accepted()
	for i := range wallets {
		b.begin(fmt.Sprintf("deposit-%d", i+1), "")
		b.transfer(bank, firstWallet+i, euro, 0, 100_00+i*5_50)
		b.transfer(bank, firstWallet+i, points, 0, 100)
		b.accepted()
	}
	for i := range 6 {
		b.begin(fmt.Sprintf("delivery-%d", i+1), fmt.Sprintf(`{"truck":%d}`, 40+i))
		b.add(shelf, crate, i, 10+i)
		b.add(shelf, ore, i, 1000*(i+1))
		b.accepted()
	}
	b.begin("delivery-long", "")
	b.add(shelf, crate, 7, 4) // three cells by one
	b.add(rail, ore, 0, 750)
	b.add(rail, crate, 7, 1)
	b.accepted()
}

// dice is the scenario's own random number generator, so that a change in math/rand
// never changes the scenario.
type dice uint64

func (d *dice) roll(n int) int {
	*d = *d*6364136223846793005 + 1442695040888963407
	return int(uint64(*d) >> 33 % uint64(n))
}

// trade makes payments between wallets, with points for the buyer. Now and then it sends
// a transaction twice, with the same idempotency key.
func trade(b *book) {
	d := dice(b.seq)
	for i := range 55 {
		from := firstWallet + d.roll(wallets)
		to := firstWallet + (from-firstWallet+1+d.roll(wallets-1))%wallets
		have := b.containers[from].stacks[stackID{euro, 0}]
		if have < 2 {
			continue
		}
		amount := 1 + d.roll(min(have-1, 25_00))
		key := fmt.Sprintf("pay-%d-%d", b.seq, i)
		if i%9 == 4 {
			key = ""
		}
		b.begin(key, fmt.Sprintf(`{"invoice":"R-%05d","cents":%d}`, b.seq*7, amount))
		b.transfer(from, to, euro, 0, amount)
		if i%3 == 0 {
			b.transfer(bank, from, points, 0, 1+amount/100)
		}
		if i%11 == 5 {
			b.add(to, label, i%4, 1+i)
		}
		b.accepted()
		if i%20 == 10 && key != "" {
			b.again()
		}
	}
}

// equip fills the bays with forklifts and their batteries.
func equip(b *book) {
	var trucks, cells []int
	for i := range 6 {
		b.begin(fmt.Sprintf("forklift-%d", i+1), fmt.Sprintf(`{"serial":"FL-%d"}`, 9000+i))
		trucks = append(trucks, b.mintInSlot(forklift, 100+i, bayNorth, i))
		b.accepted()
		b.begin(fmt.Sprintf("battery-%d", i+1), "")
		cells = append(cells, b.mint(battery, i%2))
		b.attach(cells[i], trucks[i])
		b.accepted()
	}
	b.begin("spare-batteries", "")
	b.mintInSlot(battery, 0, baySouth, 63)
	b.mintInSlot(battery, 1, baySouth, 0)
	b.accepted()
	b.begin("swap-1", "")
	b.swap(bayNorth, 0, 5, bayNorth)
	b.accepted()
	b.begin("swap-2", "")
	b.swap(bayNorth, 1, 10, baySouth) // one slot empty
	b.accepted()
	b.begin("swap-3", "")
	b.swap(bayNorth, 2, 63, baySouth) // a forklift for a battery
	b.accepted()
	b.begin("battery-change", "")
	b.detach(cells[3])
	b.detach(cells[4])
	b.attach(cells[3], trucks[4])
	b.attach(cells[4], trucks[3])
	b.accepted()
	b.begin("repair", "")
	b.removeFromSlot(bayNorth, 3)
	b.placeInSlot(baySouth, 30, trucks[3])
	b.accepted()
	b.begin("scrap", "")
	b.detach(cells[5])
	b.burn(trucks[5])
	b.accepted()
	b.begin("", "")
	b.mint(battery, 9) // is never placed anywhere
	b.accepted()
}

// hang places paintings on the shelf and moves things.
func hang(b *book) {
	b.begin("paintings", "")
	large := b.mintInGrid(painting, 1, shelf)
	small := b.mintInGrid(painting, 2, shelf)
	loose := b.mint(painting, 3)
	b.accepted()
	b.begin("hang-loose", "")
	b.placeInGrid(shelf, loose, 11, 6, 90)
	b.accepted()
	b.begin("move-large", "")
	p := b.place(shelf, large)
	b.move(shelf, p.x+2, p.y+1, 6, 6, 0) // the cell in the operation is not the painting's anchor
	b.accepted()
	b.begin("turn-large", "")
	b.move(shelf, 6, 6, 7, 5, 90) // over some of its own old cells
	b.accepted()
	b.begin("take-down", "")
	b.removeFromGrid(shelf, small)
	b.accepted()
	b.begin("hang-again", "")
	b.placeInGrid(shelf, small, 0, 7, 0)
	b.accepted()
	b.begin("rail-order", "")
	b.move(rail, 1, 0, 17, 0, 0)
	b.accepted()
	for i := range 5 {
		b.begin(fmt.Sprintf("ship-crate-%d", i), "")
		b.transfer(shelf, firstWallet+i, crate, i, 2+i)
		b.transfer(firstWallet+i, bank, euro, 0, 15_00)
		b.accepted()
	}
	b.begin("sold-out", "")
	b.take(shelf, crate, 0, b.containers[shelf].stacks[stackID{crate, 0}]) // its cells are free again
	b.add(shelf, ore, 30, 5)
	b.accepted()
}

func (b *book) place(id, inst int) placement {
	for _, p := range b.containers[id].placed {
		if p.instance == inst {
			return p
		}
	}
	panic(fmt.Sprintf("the scenario looks for instance %d in grid %d, where it is not", inst, id))
}

// refusals writes transactions with mistakes of many kinds. The ledger must reject each
// of them, and change nothing.
func refusals(b *book) {
	bad := func(code string, operation int, ops ...string) {
		b.begin(fmt.Sprintf("mistake-%d", b.line), "")
		for _, op := range ops {
			b.op("%s", op)
		}
		b.refused(code, operation)
	}
	pay := func(from, to, class, quantity int) string {
		return fmt.Sprintf(`{"op":"TransferFungible","args":{"from_container":%d,"to_container":%d,"class_id":%d,"key":0,"quantity":%d}}`, from, to, class, quantity)
	}
	bad("InsufficientBalance", 0, pay(1001, 1002, euro, 99_999_999))
	bad("InsufficientBalance", 1, pay(1001, 1002, euro, 1), pay(1002, 1001, euro, 99_999_999))
	bad("StackNotFound", 0, pay(1001, 1002, ore, 1))
	bad("ContainerNotFound", 0, pay(1001, 1999, euro, 1))
	bad("ClassNotFound", 0, pay(1001, 1002, 99, 1))
	bad("InvalidOperation", 0, pay(1001, 1001, euro, 1))
	bad("InvalidQuantity", 0, pay(1001, 1002, euro, 0))
	bad("WrongContainerKind", 0, pay(1001, bayNorth, euro, 1))
	bad("ContainerAlreadyExists", 0, `{"op":"CreateContainer","args":{"container_id":1001,"kind":"Standard"}}`)
	bad("ContainerNotEmpty", 0, `{"op":"RemoveContainer","args":{"container_id":1001}}`)
	bad("SlotOccupied", 0, fmt.Sprintf(`{"op":"MintInstance","args":{"class_id":%d,"container_id":%d,"slot_index":4}}`, forklift, bayNorth))
	bad("SlotOutOfRange", 0, fmt.Sprintf(`{"op":"MintInstance","args":{"class_id":%d,"container_id":%d,"slot_index":8}}`, forklift, bayNorth))
	bad("SlotEmpty", 0, fmt.Sprintf(`{"op":"RemoveFromSlot","args":{"container_id":%d,"slot_index":7}}`, bayNorth))
	bad("CellOccupied", 0, fmt.Sprintf(`{"op":"AddFungible","args":{"container_id":%d,"class_id":%d,"key":40,"quantity":1,"x":11,"y":7}}`, shelf, ore))
	bad("OutOfBounds", 0, fmt.Sprintf(`{"op":"AddFungible","args":{"container_id":%d,"class_id":%d,"key":40,"quantity":1,"x":11,"y":0}}`, shelf, crate))
	bad("GridFull", 0, fmt.Sprintf(`{"op":"MintInstance","args":{"class_id":%d,"key":1,"container_id":%d}}`, painting, rail))
	bad("UnregisteredClassShape", 0, fmt.Sprintf(`{"op":"AddFungible","args":{"container_id":%d,"class_id":%d,"key":0,"quantity":1}}`, shelf, label))
	bad("HasChildren", 0, `{"op":"BurnInstance","args":{"instance_id":1}}`)
	bad("WouldCreateCycle", 1, `{"op":"RemoveFromSlot","args":{"container_id":2001,"slot_index":5}}`, `{"op":"Attach","args":{"instance_id":1,"parent_id":2}}`)
	bad("WrongClassKind", 0, fmt.Sprintf(`{"op":"MintInstance","args":{"class_id":%d}}`, euro))
	bad("UnknownOperation", 0, `{"op":"Borrow","args":{}}`)
	bad("InvalidRequest", 0, `{"op":"RemoveContainer","args":{}}`)
	b.begin("issue-1", "") // an idempotency key that was used for another transaction
	b.op("%s", pay(1001, 1002, euro, 1))
	b.refused("IdempotencyConflict", -1)
}

// closing gathers stacks and removes what is no longer needed.
func closing(b *book) {
	b.begin("labels-in", "")
	b.add(bank, label, 5, 50)
	b.add(bank, label, 3, 30)
	b.add(bank, label, 9, 90)
	b.accepted()
	b.begin("labels-merge", "")
	b.merge(bank, label, 9, 5)
	b.accepted()
	b.begin("labels-gather", "")
	b.consolidate(bank, label)
	b.accepted()
	b.begin("temporary", "")
	b.wallet(temporary, 900)
	b.transfer(bank, temporary, euro, 0, 1)
	b.transfer(temporary, bank, euro, 0, 1)
	b.remove(temporary)
	b.accepted()
	b.begin("withdraw", `{"note":"caf\u00e9 \"north\""}`)
	b.take(bank, euro, 0, 1_000_000)
	b.accepted()
}
