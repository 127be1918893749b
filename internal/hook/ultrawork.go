package hook

// UltraworkPrompt is what ultrawork mode says before every continuation, unless
// somebody gives another text. 004-09
const UltraworkPrompt = "Ultrawork mode: give this everything you have. Look at what the task really asks for, and at what is still missing, " +
	"before you touch anything. Split the work into steps and carry out all of them; work on independent ones at the same time where you can. " +
	"Leave no stub, no placeholder and no open end behind. Run every check the project has, and believe their output rather than your memory."
