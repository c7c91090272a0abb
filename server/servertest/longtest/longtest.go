// Package longtest keeps a plain go test short. It chooses between the two forms
// of slow tests: a plain go test runs the short form, which finds the same kinds
// of faults with fewer cases. The command make long runs the long form, with Variable
// set to 1.
package longtest

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
)

// Main runs the tests of a package. It is meant to be called by TestMain.
//
// Tests create a lot of garbage while their live heaps are small, and collecting it
// took a quarter of their time. So the heap may grow to five times what is in use,
// up to a limit. Benchmarks run with the usual settings.
//
// Up to three tests for each processor run at the same time, because most tests with
// t.Parallel spend their time waiting.
func Main(m *testing.M) int {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(512 << 20)
	}
	Parallel(3)
	return m.Run()
}

// Parallel lets n tests for each processor run at the same time, unless -parallel was
// given or Parallel was called before.
func Parallel(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", fmt.Sprint(n*runtime.GOMAXPROCS(0)))
	}
}

// Variable is the environment variable that selects the long forms.
const Variable = "LEDGER_LONG"

// Tests matches the names of the tests that have a long form. The command make long
// runs them.
const Tests = `^Test(AgainstModel|DigestSeesEveryArgument|FormsOfMutatedLines|ApplyAhead|ReplayAll|ReplayAllOfAnotherLog|Following|KilledWriterLosesNothing|ErrorAtEveryStep|EverySubsetOfSectors|CopyCrashes|UnreadableFiles|DamagedFiles|UnfitFiles|Carried|FaultsAtEveryStep|Simulation|HostileServer|Page|PageChanges|PageLooks|PageSignIn|PageOfDaemonsInTrouble|PageRefused|ClientsCutAnswers|MemoryUnderAttack|KilledWhileTheIndexIsMade|HostileClients|TenThousandIdleConnections|RandomOperations|EveryBitFlip|KilledBeforeNewEnd|Crashes|Wire)$`

var (
	listed = regexp.MustCompile(Tests[:len(Tests)-1] + "(/|$)")
	told   sync.Map // what has been logged, so that loops log it once
)

// Form reports whether a test must run its long form. If not, Form logs what is not
// tested, and how to test it. If Tests does not match the name of the test, the test
// fails, because the command make long would not run it.
func Form(t testing.TB, untested string) bool {
	t.Helper()
	if !listed.MatchString(t.Name()) {
		t.Errorf("%s has a long form: add it to longtest.Tests", t.Name())
	}
	if os.Getenv(Variable) == "1" {
		return true
	}
	if _, again := told.LoadOrStore(untested, true); !again {
		t.Logf("NOT TESTED in the short form: %s; %s=1 (make long) tests it", untested, Variable)
	}
	return false
}
