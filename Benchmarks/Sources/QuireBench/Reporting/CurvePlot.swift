// Curves over a size that grows, as SVG of our own.

internal import Foundation

/// A picture of several panels, each with a curve per store. Both scales are logarithmic.
struct CurvePlot {
  struct Point {
    let x: Double
    let y: Double
  }

  /// What one store took.
  struct Curve {
    let name: String
    let points: [Point]
  }

  struct Panel {
    let title: String
    let unit: String
    let curves: [Curve]
  }

  let title: String
  let subtitle: String
  let panels: [Panel]
  let stores: [String]

  private static let columns = 3
  private static let panelWidth = 320.0
  private static let panelHeight = 230.0
  private static let headHeight = 70.0
  /// What stands around the curves of a panel.
  private static let left = 52.0
  private static let top = 26.0
  private static let right = 16.0
  private static let bottom = 34.0

  /// The picture.
  var svg: String {
    let lines = (panels.count + Self.columns - 1) / Self.columns
    let width = Double(Self.columns) * Self.panelWidth
    let height = Self.headHeight + Double(max(1, lines)) * Self.panelHeight
    var body = ""
    for (place, panel) in panels.enumerated() {
      let x = Double(place % Self.columns) * Self.panelWidth
      let y = Self.headHeight + Double(place / Self.columns) * Self.panelHeight
      body += "<g transform=\"translate(\(point(x)) \(point(y)))\">\n\(draw(panel))</g>\n"
    }
    return """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(point(width))" height="\(point(height))" \
      viewBox="0 0 \(point(width)) \(point(height))" font-family="sans-serif" font-size="11">
      <rect width="100%" height="100%" fill="white"/>
      <text x="12" y="22" font-size="16" font-weight="bold">\(escaped(title))</text>
      <text x="12" y="38" fill="#555">\(escaped(subtitle))</text>
      \(legend)\(body)</svg>

      """
  }

  private var legend: String {
    stores.enumerated().map { place, store in
      let x = 12 + Double(place) * 90
      return """
        <rect x="\(point(x))" y="48" width="10" height="10" fill="\(Plot.color(store))"/>\
        <text x="\(point(x + 14))" y="57">\(escaped(store))</text>

        """
    }.joined()
  }

  private func draw(_ panel: Panel) -> String {
    let points = panel.curves.flatMap(\.points)
    let columns = Scale(points.map(\.x), from: Self.left, to: Self.panelWidth - Self.right)
    let rows = Scale(points.map(\.y), from: Self.panelHeight - Self.bottom, to: Self.top)
    var text = "<text x=\"12\" y=\"14\" font-weight=\"bold\">\(escaped("\(panel.title), \(panel.unit)"))</text>\n"
    for mark in rows.marks {
      let y = point(rows.position(mark))
      text += """
        <line x1="\(point(Self.left))" y1="\(y)" x2="\(point(Self.panelWidth - Self.right))" y2="\(y)" stroke="#ddd"/>\
        <text x="\(point(Self.left - 4))" y="\(y)" text-anchor="end" fill="#555" font-size="9">\(number(mark))</text>

        """
    }
    for size in Set(points.map(\.x)).sorted() {
      let x = point(columns.position(size))
      text += """
        <text x="\(x)" y="\(point(Self.panelHeight - Self.bottom + 14))" text-anchor="middle" fill="#555" \
        font-size="9">\(number(size))</text>

        """
    }
    for curve in panel.curves {
      let places = curve.points.map { (x: point(columns.position($0.x)), y: point(rows.position($0.y))) }
      let line = places.map { "\($0.x),\($0.y)" }.joined(separator: " ")
      let color = Plot.color(curve.name)
      text += "<polyline points=\"\(line)\" fill=\"none\" stroke=\"\(color)\" stroke-width=\"1.5\"/>\n"
      for place in places { text += "<circle cx=\"\(place.x)\" cy=\"\(place.y)\" r=\"2.5\" fill=\"\(color)\"/>\n" }
    }
    return text
  }
}

/// A logarithmic scale over whole powers of two.
private struct Scale {
  private let low: Double
  private let high: Double
  private let start: Double
  private let end: Double

  /// From the power of two below the least value, at `start`, to the one above the largest, at `end`.
  init(_ values: [Double], from start: Double, to end: Double) {
    let exponents = values.filter { $0 > 0 && $0.isFinite }.map { log2($0) }
    low = (exponents.min() ?? 0).rounded(.down)
    high = max(low + 1, (exponents.max() ?? 1).rounded(.up))
    (self.start, self.end) = (start, end)
  }

  /// Powers of two, six at the most.
  var marks: [Double] {
    stride(from: low, through: high, by: max(1, ((high - low) / 6).rounded(.up))).map { pow(2, $0) }
  }

  func position(_ value: Double) -> Double {
    let exponent = value > 0 ? min(max(log2(value), low), high) : low
    return start + (exponent - low) / (high - low) * (end - start)
  }
}
