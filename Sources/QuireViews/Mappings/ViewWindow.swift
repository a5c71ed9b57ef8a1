// Showing a part of a group.

/// The part of a group that a screen shows.
///
/// ```swift
/// mappings.window["inbox"] = .fixed(50)  // always the first 50 rows
/// mappings.window["chat"] = .flexible(50, from: .end, max: 200)  // the last 50, and those that come
/// ```
///
/// A **fixed** window has the same length all the time, or less while the group has fewer rows: what comes pushes rows
/// out of it, what goes lets rows in. A **flexible** one grows with the rows that are inserted in it and shrinks with
/// those removed from it. The offset counts from the pin: the edge of the group that the window is tied to. Offset and
/// lengths below zero count as zero.
public struct ViewWindow: Hashable, Sendable {
  /// The edge of the group that a window is tied to.
  public enum Pin: Hashable, Sendable {
    /// The first row.
    case beginning
    /// The last row.
    case end

    /// The other edge.
    public var opposite: Pin { self == .beginning ? .end : .beginning }
  }

  /// Whether a row that is inserted right at an edge of a flexible window comes into it.
  ///
  /// An empty window takes what comes at either edge, whatever this says, until the next advance.
  public struct Growth: OptionSet, Hashable, Sendable {
    /// One bit for each edge.
    public let rawValue: UInt8
    /// Wraps bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// At the edge on the side of the pin.
    public static let pinSide = Growth(rawValue: 1)
    /// At the other edge.
    public static let farSide = Growth(rawValue: 2)
    /// At either edge.
    public static let both: Growth = [.pinSide, .farSide]
    /// At neither: only between two rows of the window.
    public static let insideOnly: Growth = []
  }

  /// Where a window stands in its group: the rows before, in and after it.
  public struct Position: Hashable, Sendable {
    /// How many rows of the group come before the window.
    public let offsetFromBeginning: Int
    /// How many rows of the group come after the window.
    public let offsetFromEnd: Int
    /// How many rows the window shows.
    public let length: Int
  }

  /// Whether the window is flexible rather than fixed.
  public let isFlexible: Bool
  /// The number of rows: of a fixed window the greatest, of a flexible one that at the start, and, when read back from
  /// mappings, the present one.
  public var length: Int
  /// The number of rows between the window and the pin; of a flexible window, when read back, the present one.
  public var offset: Int
  /// The edge that the window is tied to.
  public var pin: Pin
  /// The length below which a flexible window does not fall while the group has the rows: it first takes rows on the
  /// side of the pin, then on the other. At most `maxLength` counts.
  public var minLength: Int
  /// The length above which a flexible window does not grow: rows leave it at the edge that is not the pin's.
  public var maxLength: Int
  /// At which edges a flexible window grows.
  public var growth: Growth

  /// A window of constant length and offset.
  public static func fixed(_ length: Int, offset: Int = 0, from pin: Pin = .beginning) -> ViewWindow {
    ViewWindow(
      isFlexible: false, length: length, offset: offset, pin: pin, minLength: 0, maxLength: length, growth: .insideOnly)
  }

  /// A window that grows and shrinks with the rows in it, starting at a length and an offset.
  public static func flexible(
    _ length: Int, offset: Int = 0, from pin: Pin = .beginning, min: Int = 0, max: Int = .max, grow: Growth = .pinSide
  ) -> ViewWindow {
    ViewWindow(
      isFlexible: true, length: length, offset: offset, pin: pin, minLength: min, maxLength: max, growth: grow)
  }

  /// The window as it looks when the group is read backwards.
  var reversed: ViewWindow {
    var window = self
    window.pin = pin.opposite
    return window
  }

  /// The indexes that the window covers by its length and offset alone, in a group of so many rows.
  func range(inCount count: Int) -> Range<Int> {
    let offset = Swift.min(Swift.max(offset, 0), count)
    let length = Swift.min(Swift.max(length, 0), count - offset)
    assert(length >= 0 && offset + length <= count, "a window leaves its group")
    return pin == .beginning ? offset..<offset + length : count - offset - length..<count - offset
  }

  /// A flexible window's range, brought within the limits of its length.
  func limited(_ range: Range<Int>, inCount count: Int) -> Range<Int> {
    let longest = Swift.max(maxLength, 0)
    let shortest = Swift.min(Swift.max(minLength, 0), longest, count)
    var lower = Swift.min(range.lowerBound, count)
    var upper = Swift.min(range.upperBound, count)
    if upper - lower > longest {
      if pin == .beginning { upper = lower + longest } else { lower = upper - longest }
    }
    for side in [pin, pin.opposite] where upper - lower < shortest {
      let missing = shortest - (upper - lower)
      if side == .beginning { lower -= Swift.min(missing, lower) } else { upper += Swift.min(missing, count - upper) }
    }
    assert(0 <= lower && lower <= upper && upper <= count, "a window leaves its group")
    assert((shortest...longest).contains(upper - lower), "a flexible window is too short or too long")
    return lower..<upper
  }
}
