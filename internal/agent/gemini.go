package agent

// gemini is the Gemini CLI, @google/gemini-cli 0.61.
type gemini struct{ text }
