package cublaslt

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"forgekernel/forge/backend/cuda/driver"
)

// Product is one way to multiply.
type Product struct {
	// Name is for a person: "cuBLASLt 13.1.0, algorithm 66, tile 20, stages 36".
	Name      string
	Workspace int64   // bytes that it uses
	Waves     float32 // of blocks over the device; 1 is a full one
	algorithm [8]uint64
	plan      *Plan
}

// candidate is cublasLtMatmulHeuristicResult_t.
type candidate struct {
	algorithm [8]uint64
	workspace uint64
	state     Status
	waves     float32
	reserved  [4]int32
}

// maxProducts is how many ways the library is asked for.
const maxProducts = 8

// search fills in the products.
func (p *Plan) search() error {
	l, s := p.lib, p.Shape
	var preference uintptr
	if err := l.call(s.String(), "cublasLtMatmulPreferenceCreate", uintptr(unsafe.Pointer(&preference))); err != nil {
		return err
	}
	defer func() { _ = l.call("", "cublasLtMatmulPreferenceDestroy", preference) }()
	prefer := func(attribute uintptr, value uint64, size uintptr) error {
		return l.call(fmt.Sprintf("%v, attribute %d", s, attribute), "cublasLtMatmulPreferenceSetAttribute", preference, attribute, uintptr(unsafe.Pointer(&value)), size)
	}
	if err := errors.Join(
		prefer(prefWorkspace, uint64(s.Workspace), 8), prefer(prefAlignA, uint64(s.B.Align), 4), prefer(prefAlignB, uint64(s.A.Align), 4),
		prefer(prefAlignC, uint64(s.D.Align), 4), prefer(prefAlignD, uint64(s.D.Align), 4),
	); err != nil {
		return err
	}
	var found [maxProducts]candidate
	var n int32
	if err := l.call(s.String(), "cublasLtMatmulAlgoGetHeuristic", p.handle, p.desc, p.a, p.b, p.d, p.d, preference,
		maxProducts, uintptr(unsafe.Pointer(&found[0])), uintptr(unsafe.Pointer(&n))); err != nil {
		return err
	}
	for _, c := range found[:min(max(n, 0), maxProducts)] {
		if c.state == 0 && int64(c.workspace) <= s.Workspace {
			made := &Product{Workspace: int64(c.workspace), Waves: c.waves, algorithm: c.algorithm, plan: p}
			made.name()
			p.Products = append(p.Products, made)
		}
	}
	if p.Products == nil {
		return l.fail(NotSupported, "cublasLtMatmulAlgoGetHeuristic", s.String())
	}
	return nil
}

// Of cublasLtMatmulAlgoConfigAttributes_t.
const (
	configID     = 0
	configTile   = 1
	configSplitK = 2
	configStages = 6
)

// name tells what the algorithm is, as far as the library does.
func (m *Product) name() {
	m.Name = fmt.Sprintf("cuBLASLt %v", m.plan.lib.Version)
	for _, c := range []struct {
		attribute uintptr
		word      string
		usual     int32
	}{{configID, "algorithm", -1}, {configTile, "tile", 0}, {configStages, "stages", 0}, {configSplitK, "split-K", 1}} {
		var value int32
		var written uint64
		err := m.plan.lib.call("", "cublasLtMatmulAlgoConfigGetAttribute", uintptr(unsafe.Pointer(&m.algorithm[0])), c.attribute,
			uintptr(unsafe.Pointer(&value)), 4, uintptr(unsafe.Pointer(&written)))
		if err == nil && value != c.usual && (c.attribute != configSplitK || value > 1) {
			m.Name += fmt.Sprintf(", %s %d", c.word, value)
		}
	}
}

// Run puts the product into a stream, within Do. Addresses are of the device: bias is 0
// where there is none, and workspace has as many bytes as the product uses.
func (m *Product) Run(s *driver.Stream, a, b, bias, d, workspace uint64) error {
	p := m.plan
	l := p.lib
	l.mu.Lock() // the bias is part of the description
	defer l.mu.Unlock()
	if p.Shape.Bias {
		if err := l.call(p.Shape.String(), "cublasLtMatmulDescSetAttribute", p.desc, descBias, uintptr(unsafe.Pointer(&bias)), 8); err != nil {
			return err
		}
	}
	err := l.call(fmt.Sprintf("%v by %s", p.Shape, m.Name), "cublasLtMatmul", p.handle, p.desc, uintptr(unsafe.Pointer(&p.one)),
		uintptr(b), p.a, uintptr(a), p.b, uintptr(unsafe.Pointer(&p.zero)), uintptr(d), p.d, uintptr(d), p.d,
		uintptr(unsafe.Pointer(&m.algorithm[0])), uintptr(workspace), uintptr(m.Workspace), s.Handle())
	runtime.KeepAlive(p)
	return err
}
