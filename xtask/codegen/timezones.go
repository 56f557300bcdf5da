package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// readTimeZones lists the names that time.LoadLocation knows from the database that comes with Go, sorted. A server has
// that database built in (package time/tzdata). On a machine with a database of its own it takes names from there too.
//
// The database is that of the toolchain; it has to be of the same line as the toolchain the release is built with, so
// that every run finds the same names.
func readTimeZones(dir string) ([]string, error) {
	pinned, err := os.ReadFile(filepath.Join(dir, ".go-version"))
	if err != nil {
		return nil, err
	}
	out, err := exec.Command("go", "env", "-json", "GOROOT", "GOVERSION").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	var toolchain struct{ GOROOT, GOVERSION string }
	if err := json.Unmarshal(out, &toolchain); err != nil {
		return nil, err
	}
	built := "go" + strings.TrimSpace(string(pinned))
	if version.Lang(toolchain.GOVERSION) != version.Lang(built) {
		return nil, fmt.Errorf("time zones: the release is built with %s, this is %s: set GOTOOLCHAIN=%s",
			built, toolchain.GOVERSION, built)
	}
	database := filepath.Join(toolchain.GOROOT, "lib", "time", "zoneinfo.zip")
	archive, err := zip.OpenReader(database)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	// Where LoadLocation looks first, so that no name is known from elsewhere alone.
	if err := os.Setenv("ZONEINFO", database); err != nil {
		return nil, err
	}
	names := []string{}
	for _, entry := range archive.File {
		if strings.HasSuffix(entry.Name, "/") {
			continue
		}
		if _, err := time.LoadLocation(entry.Name); err != nil {
			return nil, err
		}
		names = append(names, entry.Name)
	}
	slices.Sort(names)
	return names, nil
}
