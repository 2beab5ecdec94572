// Package store keeps captures in one SQLite file.
//
// A row is the file of a capture, whole: the store adds nothing to it, and what
// is read from it is verified as any file is. Captures are never changed and
// never removed.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver

	"forgekernel/forge/capture"
)

// Store is an open file of captures. It is safe for concurrent use, also by
// several processes.
type Store struct{ db *sql.DB }

// Version is that of the tables.
const Version = 1

// patience is how long, in milliseconds, a process waits for another one that
// writes.
const patience = 10_000

// application marks the file as a store of captures: "fcap".
const application = 0x66636170

// Open opens a store. Unless it exists, it is made.
func Open(ctx context.Context, path string) (*Store, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	name := url.URL{Scheme: "file", Path: absolute, RawQuery: url.Values{
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", patience), "trusted_schema(0)", "cell_size_check(1)"},
		"_txlock": {"immediate"},
	}.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s := &Store{db}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), db.Close())
	}
	return s, nil
}

// prepare makes the table of a new file, and refuses a file of another kind.
func (s *Store) prepare(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var kind, version, tables int
	for query, into := range map[string]*int{
		"PRAGMA application_id": &kind, "PRAGMA user_version": &version, "SELECT count(*) FROM sqlite_schema": &tables,
	} {
		if err := tx.QueryRowContext(ctx, query).Scan(into); err != nil {
			return err
		}
	}
	switch {
	case kind == application && version == Version:
		return nil
	case kind == application:
		return fmt.Errorf("the store has version %d; this program reads version %d", version, Version)
	case kind != 0 || version != 0 || tables != 0:
		return errors.New("it is a database, but no store of captures")
	}
	for _, statement := range []string{
		"CREATE TABLE captures (id TEXT PRIMARY KEY, sha256 TEXT NOT NULL, file BLOB NOT NULL) STRICT",
		fmt.Sprintf("PRAGMA application_id = %d", application),
		fmt.Sprintf("PRAGMA user_version = %d", Version),
	} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

// Put adds a capture. One that is there already stays as it is; another one
// with its id is an error.
func (s *Store) Put(ctx context.Context, c *capture.Capture) error {
	file, err := capture.Encode(c)
	if err != nil {
		return err
	}
	sum, err := capture.Hash(c)
	if err != nil {
		return err
	}
	if _, err := s.db.ExecContext(ctx, "INSERT INTO captures (id, sha256, file) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", c.ID, sum, file); err != nil {
		return err
	}
	var have string
	if err := s.db.QueryRowContext(ctx, "SELECT sha256 FROM captures WHERE id = ?", c.ID).Scan(&have); err != nil {
		return err
	}
	if have != sum {
		return fmt.Errorf("the store has another capture %s, with the SHA-256 %s", c.ID, have)
	}
	return nil
}

// Get returns a capture, verified.
func (s *Store) Get(ctx context.Context, id string) (*capture.Capture, error) {
	var size int64
	err := s.db.QueryRowContext(ctx, "SELECT length(file) FROM captures WHERE id = ?", id).Scan(&size)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fmt.Errorf("the store has no capture %q", id)
	case err != nil:
		return nil, err
	case size > capture.MaxFile:
		return nil, fmt.Errorf("capture %s has %d bytes; at most %d are read", id, size, capture.MaxFile)
	}
	var file []byte
	if err := s.db.QueryRowContext(ctx, "SELECT file FROM captures WHERE id = ?", id).Scan(&file); err != nil {
		return nil, err
	}
	c, err := capture.Decode(file)
	if err != nil {
		return nil, fmt.Errorf("capture %s: %w", id, err)
	}
	if c.ID != id {
		return nil, fmt.Errorf("the store holds capture %s as %s", c.ID, id)
	}
	return c, nil
}

// IDs lists the captures, the oldest first.
func (s *Store) IDs(ctx context.Context) ([]string, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT id FROM captures ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		list = append(list, id)
	}
	return list, rows.Err()
}
