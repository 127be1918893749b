package leak

import "github.com/zricethezav/gitleaks/v8/config"

type formats struct{ rules string }

func newFormats() *formats { return &formats{config.DefaultConfig} }
