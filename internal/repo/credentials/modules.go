package credentials

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/repo/gitconfig"
	"github.com/org/ralph-action/internal/repo/gitdir"
)

// moduleDirs finds the git directories of submodules below common.
func moduleDirs(common string) ([]string, error) {
	var list []string
	top := filepath.Join(common, "modules")
	err := filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && p == top {
			return fs.SkipAll
		}
		if err != nil || !d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(top, p)
		switch {
		case strings.Count(rel, string(filepath.Separator)) > maxModuleDepth:
			return fs.SkipDir
		case slices.Contains([]string{"objects", "refs", "logs", "hooks", "info"}, d.Name()) && isGitDir(filepath.Dir(p)):
			return fs.SkipDir
		case isGitDir(p):
			list = append(list, p)
		}
		if len(list) > maxGitFolders {
			return fmt.Errorf("more than %d submodules", maxGitFolders)
		}
		return nil
	})
	return list, err
}

// workTrees are the directories of submodules that are checked out, each with a file
// .git that names its git directory: whoever replaces that file decides which
// configuration a git command below the top reads.
func workTrees(modules []string) []string {
	var list []string
	for _, dir := range modules {
		root, err := os.OpenRoot(dir)
		if err != nil {
			continue
		}
		c, err := gitconfig.Read(root, "config")
		_ = root.Close()
		if err != nil || c.Value("core", "worktree") == "" {
			continue
		}
		tree := gitdir.Resolve(dir, filepath.FromSlash(c.Value("core", "worktree")))
		if info, err := os.Lstat(filepath.Join(tree, ".git")); err == nil && info.Mode().IsRegular() {
			list = append(list, tree)
		}
	}
	return list
}

func isGitDir(p string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(p, name)); err != nil {
			return false
		}
	}
	return true
}
