package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func ralphMain() { os.Exit(Start(Build{Version: "dev"})) }

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "sandbox-") { // started by the supervisor, under any name
		ralphMain()
	}
	testscript.Main(m, map[string]func(){"ralph": ralphMain})
}
