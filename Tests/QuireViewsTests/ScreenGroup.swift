// Windows as somebody would do them with scissors.

@testable import QuireViews

/// A group as a list of rows with two marks in it, between which rows are shown.
///
/// Says by itself, in another way than the product, what windows show: the marks of a flexible window move with the
/// rows around them, those of a fixed one are set anew every time.
struct ScreenGroup {
  /// A row, or one of the marks.
  enum Token: Equatable {
    case row(ScreenRow)
    case opening
    case closing
  }

  private(set) var tokens: [Token] = []
  private var window: ViewWindow?
  private var hasStarted = false
  private var wasEmpty = false

  init(window: ViewWindow?) { self.window = window }

  /// All rows.
  var rows: [ScreenRow] { Self.rows(tokens[...]) }

  /// The rows shown, in the group's order.
  var shown: [ScreenRow] {
    guard window != nil else { return rows }
    guard let open = tokens.firstIndex(of: .opening), let close = tokens.firstIndex(of: .closing) else { return [] }
    return Self.rows(tokens[open..<close])
  }

  private static func isMark(_ token: Token) -> Bool { token == .opening || token == .closing }

  private static func rows(_ tokens: ArraySlice<Token>) -> [ScreenRow] {
    tokens.compactMap { if case .row(let row) = $0 { row } else { nil } }
  }

  /// Where a row's token is.
  private func slot(of index: Int) -> Int {
    var seen = -1
    return tokens.firstIndex { token in
      if case .row = token { seen += 1 }
      return seen == index
    } ?? tokens.count
  }

  mutating func insert(_ row: ScreenRow, at index: Int) {
    // The tokens between the rows before and after the new one are the marks that stand there.
    let after = slot(of: index)
    let before = index == 0 ? 0 : slot(of: index - 1) + 1
    let marks = Array(tokens[before..<after])
    let growth = wasEmpty ? .both : window?.growth ?? .both
    let growsLow = growth.contains(window?.pin == .end ? .farSide : .pinSide)
    let growsHigh = growth.contains(window?.pin == .end ? .pinSide : .farSide)
    switch marks {
    case [.opening]: tokens.insert(.row(row), at: growsLow ? after : before)
    case [.closing]: tokens.insert(.row(row), at: growsHigh ? before : after)
    case [.opening, .closing]: tokens.insert(.row(row), at: before + 1)
    default: tokens.insert(.row(row), at: after)
    }
  }

  mutating func remove(at index: Int) {
    tokens.remove(at: slot(of: index))
    if shown.isEmpty { wasEmpty = true }
  }

  mutating func removeAll() {
    tokens.removeAll { !Self.isMark($0) }
    wasEmpty = true
  }

  mutating func update(_ row: ScreenRow, at index: Int) { tokens[slot(of: index)] = .row(row) }

  /// Puts the marks where they belong at the end of a change.
  ///
  /// - Parameter isNew: whether the screen did not show the group before the change: a window then starts where it was.
  mutating func settle(isNew: Bool) {
    guard let window else { return }
    if !window.isFlexible || !hasStarted || isNew { placeMarks(window) }
    if window.isFlexible {
      while shown.count > max(window.maxLength, 0) { move(window.pin.opposite, inward: true) }
      let shortest = min(max(window.minLength, 0), max(window.maxLength, 0), rows.count)
      for side in [window.pin, window.pin.opposite] {
        while shown.count < shortest, move(side, inward: false) {}
      }
    }
    hasStarted = hasStarted || !shown.isEmpty
    wasEmpty = shown.isEmpty
    guard window.isFlexible, hasStarted else { return }
    var present = window
    present.length = shown.count
    present.offset = (window.pin == .beginning ? tokens : tokens.reversed()).prefix { !Self.isMark($0) }.count
    self.window = present
  }

  private mutating func placeMarks(_ window: ViewWindow) {
    var all = rows.map(Token.row)
    if window.pin == .end { all.reverse() }
    let start = min(max(window.offset, 0), all.count)
    let end = start + min(max(window.length, 0), all.count - start)
    all.insert(window.pin == .end ? .opening : .closing, at: end)
    all.insert(window.pin == .end ? .closing : .opening, at: start)
    tokens = window.pin == .end ? all.reversed() : all
  }

  /// Moves a mark over one row; false at the end of the group.
  @discardableResult private mutating func move(_ side: ViewWindow.Pin, inward: Bool) -> Bool {
    let mark: Token = side == .beginning ? .opening : .closing
    let isForward = (side == .beginning) == inward
    guard let from = tokens.firstIndex(of: mark), isForward ? from + 1 < tokens.count : from > 0 else { return false }
    tokens.swapAt(from, isForward ? from + 1 : from - 1)
    return true
  }
}

/// A row of the model: which, and how often it was changed.
struct ScreenRow: Equatable {
  let key: Int
  var version: Int
}
