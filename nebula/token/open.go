package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"forgekernel/forge/weights"
)

// maxConfig is the largest of the small files beside tokenizer.json, in bytes.
const maxConfig = 16 << 20

// Open reads the tokenizer of a model: of a folder in the Hugging Face layout, where
// BOS and EOS are named by the files beside tokenizer.json, of a GGUF file, or of a
// tokenizer.json alone.
func Open(path string) (*Tokenizer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return openFolder(path)
	}
	if filepath.Ext(path) == ".gguf" {
		f, err := weights.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return inFile(path, f.Meta(), FromGGUF)
	}
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return inFile(path, data, Parse)
}

// readFile reads a tokenizer.json that is named itself and may be any link.
func readFile(path string) ([]byte, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	folder, err := weights.OpenFolder(filepath.Dir(real))
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return folder.Read(filepath.Base(real), MaxFile)
}

func inFile[T any](path string, from T, parse func(T) (*Tokenizer, error)) (*Tokenizer, error) {
	t, err := parse(from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func openFolder(dir string) (*Tokenizer, error) {
	folder, err := weights.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	data, err := folder.Read("tokenizer.json", MaxFile)
	if err != nil {
		return nil, err
	}
	t, err := inFile(dir, data, Parse)
	if err != nil {
		return nil, err
	}
	var names struct {
		BOS tokenName `json:"bos_token"`
		EOS tokenName `json:"eos_token"`
	}
	if err := readJSON(folder, "tokenizer_config.json", &names); err != nil {
		return nil, err
	}
	if id, ok := t.ID(string(names.BOS)); ok {
		t.bos = id
	}
	if id, ok := t.ID(string(names.EOS)); ok {
		t.eos = append(t.eos, id)
	}
	for _, name := range []string{"generation_config.json", "config.json"} {
		var config struct {
			BOS *int32  `json:"bos_token_id"`
			EOS idOrIDs `json:"eos_token_id"`
		}
		if err := readJSON(folder, name, &config); err != nil {
			return nil, err
		}
		if t.bos < 0 && config.BOS != nil && t.has(*config.BOS) {
			t.bos = *config.BOS
		}
		for _, id := range config.EOS {
			t.ends(id)
		}
		if len(config.EOS) > 0 {
			break // what generation_config.json says replaces what config.json says
		}
	}
	return t, nil
}

// ends notes an id that ends a generation.
func (t *Tokenizer) ends(id int32) {
	if t.has(id) && !slices.Contains(t.eos, id) {
		t.eos = append(t.eos, id)
	}
}

// tokenName is a token as its text, or as an object with its content.
type tokenName string

func (n *tokenName) UnmarshalJSON(b []byte) error {
	var s struct{ Content string }
	if len(b) > 0 && b[0] == '{' {
		err := json.Unmarshal(b, &s)
		*n = tokenName(s.Content)
		return err
	}
	return json.Unmarshal(b, (*string)(n))
}

// idOrIDs is one id or a list of them.
type idOrIDs []int32

func (l *idOrIDs) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		return json.Unmarshal(b, (*[]int32)(l))
	}
	var id *int32
	err := json.Unmarshal(b, &id)
	if id != nil {
		*l = idOrIDs{*id}
	}
	return err
}

// readJSON reads a file that may be missing.
func readJSON(folder *weights.Folder, name string, into any) error {
	data, err := folder.Read(name, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", folder.Path(name), err)
	}
	return nil
}
