// The table as pictures: bars as multiples of the best peer, as SVG of our own.

internal import Foundation

/// One picture: the rows of a group, a bar per store. The scale is logarithmic, and bars begin at the best peer: to the
/// left is better, to the right worse, whichever way the row counts.
struct Plot {
  private let title: String
  private let subtitle: String
  private let rows: [[RowResult]]
  private let stores: [String]

  private static let colors = [
    "quire": "#d9480f", "lmdb": "#1c7ed6", "sqlite": "#2f9e44", "rocksdb": "#7048e8", "leveldb": "#868e96",
    "grdb": "#66a80f",
  ]
  private static let width = 960.0
  private static let left = 190.0
  private static let right = 150.0
  private static let barHeight = 13.0
  private static let headHeight = 74.0
  private static let rowGap = 16.0

  /// The rows of `group` in `report`; nil if it has none.
  init?(_ group: RowGroup, of report: Report) {
    rows = report.rows.filter { $0.first?.group == group }
    if rows.isEmpty { return nil }
    title = group.title
    stores = report.stores.map(\.name)
    subtitle = "\(report.plan.count) rows of 24 + 150 bytes; multiples of the best peer, left is better; lines: spread"
  }

  /// The picture.
  var svg: String {
    let ratios = rows.flatMap { results in
      results.flatMap { bar in [bar.lowest, bar.highest].map { cost($0, bar, results) } }
    }
    let exponents = ratios.filter { $0 > 0 && $0.isFinite }.map { log2($0) }
    let low = max(-7, min(-1, (exponents.min() ?? -1).rounded(.down)))
    let high = min(9, max(1, (exponents.max() ?? 1).rounded(.up)))
    let axis = Axis(low: low, high: high, left: Self.left, right: Self.width - Self.right)
    var top = Self.headHeight
    var bars = ""
    for results in rows {
      bars += draw(results, top, axis)
      top += Double(results.count) * Self.barHeight + Self.rowGap
    }
    let height = top + 8
    return """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(point(Self.width))" height="\(point(height))" \
      viewBox="0 0 \(point(Self.width)) \(point(height))" font-family="sans-serif" font-size="11">
      <rect width="100%" height="100%" fill="white"/>
      <text x="12" y="22" font-size="16" font-weight="bold">\(escaped(title))</text>
      <text x="12" y="38" fill="#555">\(escaped(subtitle))</text>
      \(legend)\(grid(axis, bottom: height - 8))\(bars)</svg>

      """
  }

  /// How much worse than the best peer, 1 being as good; where there is no peer, than the best at all.
  private func cost(_ value: Double, _ result: RowResult, _ results: [RowResult]) -> Double {
    let peers = results.filter { $0.store != QuireStore.name }
    let others = (peers.isEmpty ? results : peers).map(\.median)
    guard let best = result.higherIsBetter ? others.max() : others.min() else { return 1 }
    // Nothing at all, such as no page faults, is as good as the best that is nothing, and better than anything else.
    if best == 0 || value == 0 { return best == value ? 1 : value == 0 ? 0 : .infinity }
    return result.higherIsBetter ? best / value : value / best
  }

  private var legend: String {
    var (x, text) = (Self.left, "")
    for store in stores {
      text += "<rect x=\"\(point(x))\" y=\"46\" width=\"10\" height=\"10\" fill=\"\(Self.color(store))\"/>"
      text += "<text x=\"\(point(x + 14))\" y=\"55\">\(escaped(store))</text>\n"
      x += 90
    }
    return text
  }

  private func grid(_ axis: Axis, bottom: Double) -> String {
    stride(from: axis.low, through: axis.high, by: 1).map { exponent in
      let x = point(axis.position(exponent))
      let label = exponent >= 0 ? "\(Int(pow(2, exponent)))×" : "1/\(Int(pow(2, -exponent)))"
      let stroke = exponent == 0 ? "#333" : "#ddd"
      return """
        <line x1="\(x)" y1="70" x2="\(x)" y2="\(point(bottom))" stroke="\(stroke)"/>\
        <text x="\(x)" y="68" text-anchor="middle" fill="#555" font-size="9">\(label)</text>

        """
    }.joined()
  }

  private func draw(_ results: [RowResult], _ top: Double, _ axis: Axis) -> String {
    guard let first = results.first else { return "" }
    var text = """
      <text x="12" y="\(point(top + 11))" font-weight="bold">\(escaped(first.row))</text>\
      <text x="12" y="\(point(top + 24))" fill="#555">\(escaped(first.unit))</text>

      """
    for (place, result) in results.enumerated() {
      let y = top + Double(place) * Self.barHeight
      let ratio = cost(result.median, result, results)
      let (zero, end) = (axis.position(0), axis.position(ofRatio: ratio))
      let ends = [result.lowest, result.highest].map { axis.position(ofRatio: cost($0, result, results)) }.sorted()
      let middle = point(y + Self.barHeight / 2 - 1)
      let multiple = ratio.isFinite ? "\(number(ratio))×" : "∞"
      text += """
        <rect x="\(point(min(zero, end)))" y="\(point(y))" width="\(point(max(1, abs(end - zero))))" \
        height="\(point(Self.barHeight - 3))" fill="\(Self.color(result.store))"/>\
        <line x1="\(point(ends[0]))" y1="\(middle)" x2="\(point(ends[1]))" y2="\(middle)" stroke="#222"/>\
        <text x="\(point(Self.width - Self.right + 10))" y="\(point(y + 9))" font-size="10">\(multiple)  \
        \(escaped("\(number(result.median)) \(result.store)"))</text>

        """
    }
    return text
  }

  /// The colour of a store, in every picture.
  static func color(_ store: String) -> String { colors[store] ?? "#000" }
}

/// A logarithmic scale between two powers of two; what lies beyond is drawn at its ends.
private struct Axis {
  let low: Double
  let high: Double
  let left: Double
  let right: Double

  func position(_ exponent: Double) -> Double {
    left + (min(max(exponent, low), high) - low) / (high - low) * (right - left)
  }

  func position(ofRatio ratio: Double) -> Double { position(ratio > 0 ? log2(ratio) : low) }
}

/// A length in a picture.
func point(_ value: Double) -> String { String(format: "%.1f", value) }

/// Text as XML takes it.
func escaped(_ text: String) -> String {
  text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
    .replacingOccurrences(of: ">", with: "&gt;")
}
