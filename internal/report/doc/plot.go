package doc

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// plot is a bar chart laid out for the page's SVG.
type plot struct {
	Title, Unit, Class string
	Width, Height      int
	Bars               []bar
	Grid               []gridLine
	Ticks              []tick
}

type bar struct {
	X, Y, Width, Height float64
	Tip                 string
}

type gridLine struct {
	Y     float64
	Label string
}

type tick struct {
	X     float64
	Label string
}

func (s Series) plot() plot {
	const width, height, left, bottom, top = 460, 200, 46, 26, 12
	p := plot{Title: s.Title, Unit: s.Unit, Class: s.Class, Width: width, Height: height}
	inner, base := float64(width-left-8), float64(height-bottom)
	y := func(v float64) float64 { return round1(base - v/s.Max*(base-top)) }
	for i := range s.Steps + 1 {
		v := s.Max * float64(i) / float64(s.Steps)
		p.Grid = append(p.Grid, gridLine{y(v), number(math.Round(v*100) / 100)})
	}
	slot := inner / float64(len(s.Values))
	every := 1 + len(s.Values)*max(3, utf8.RuneCountInString(fmt.Sprint(s.Labels[len(s.Labels)-1]+1)))/60
	for i, v := range s.Values {
		x := float64(left) + slot*float64(i)
		w := min(slot*0.72, 56)
		p.Bars = append(p.Bars, bar{
			X: round1(x + (slot-w)/2), Y: y(v), Width: round1(max(w, 1)), Height: round1(base - y(v)),
			Tip: fmt.Sprintf("Iteration %d: %s %s", s.Labels[i], number(v), s.Unit),
		})
		if i%every == 0 {
			p.Ticks = append(p.Ticks, tick{round1(x + slot/2), fmt.Sprint(s.Labels[i])})
		}
	}
	return p
}

func round1(v float64) float64 { return math.Round(v*10) / 10 }
