package doc

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Series is one value per iteration in a unit that suits it.
type Series struct {
	Title  string
	Class  string // of the page's chart
	Unit   string
	Colour string // of the bars in a Mermaid chart, readable on light and dark
	Labels []int  // numbers of the iterations
	Values []float64
	Max    float64 // top of the axis, never 0
	Steps  int     // parts of the axis that give round numbers
}

// Add appends the value of an iteration.
func (s *Series) Add(number int, v float64) {
	s.Labels = append(s.Labels, number)
	s.Values = append(s.Values, math.Round(max(0, v)*1000)/1000)
}

// Scaled ends the axis at a round number above the highest value, one of those
// for which Mermaid draws so few ticks that their labels do not overlap.
func (s Series) Scaled() Series {
	top := 0.0
	for _, v := range s.Values {
		top = max(top, v)
	}
	if top <= 0 {
		s.Max, s.Steps = 1, 5
		return s
	}
	unit := math.Pow(10, math.Floor(math.Log10(top)))
	for _, factor := range []struct {
		top   float64
		steps int
	}{{1, 5}, {1.5, 3}, {2, 4}, {4, 4}, {5, 5}, {8, 4}, {10, 5}, {15, 3}} {
		if s.Max, s.Steps = unit*factor.top, factor.steps; s.Max >= top*1.02 {
			break
		}
	}
	return s
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// mermaidChart leaves the theme to the forge, which follows the reader's
// light or dark setting; only the colour of the bars is ours.
const mermaidChart = "```mermaid" + `
---
config:
  xyChart:
    width: 900
    height: 220
    titleFontSize: 15
    xAxis:
      labelFontSize: 12
    yAxis:
      labelFontSize: 12
  themeVariables:
    xyChart:
      backgroundColor: transparent
      plotColorPalette: "%s"
---
xychart-beta
    title "%s (%s)"
    x-axis %s
    y-axis 0 --> %s
    %s [%s]
` + "```\n"

// mermaid is the series as a Mermaid chart.
func (s Series) mermaid() string {
	values := make([]string, len(s.Values))
	labels := make([]string, len(s.Values))
	for i, v := range s.Values {
		values[i] = number(v)
		labels[i] = strconv.Itoa(s.Labels[i])
	}
	axis, shape := "["+strings.Join(labels, ", ")+"]", "bar"
	if len(labels) > 25 {
		// Labels of their own would overlap, and on an axis of numbers
		// Mermaid draws bars as wide as the distance of its ticks.
		shape = "line"
		axis = fmt.Sprintf("%d --> %d", s.Labels[0], s.Labels[len(s.Labels)-1])
	}
	return fmt.Sprintf(mermaidChart, s.Colour, s.Title, s.Unit, axis, number(math.Round(s.Max*1000)/1000), shape, strings.Join(values, ", "))
}

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
