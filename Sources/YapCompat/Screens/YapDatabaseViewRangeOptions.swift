// Parts of groups that screens show, under their original names.

public import Quire

/// The edge of a group that a range is tied to. New type: `ViewWindow.Pin`.
public enum YapDatabaseViewPin: Sendable {
  /// The first row.
  case beginning
  /// The last row.
  case end
}

/// At which edges a flexible range takes in rows that are inserted right there. New type: `ViewWindow.Growth`.
public enum YapDatabaseViewGrowOptions: Sendable {
  /// At the edge on the side of the pin.
  case pinSide
  /// At the other edge.
  case nonPinSide
  /// At neither: only between two rows of the range.
  case inRangeOnly
  /// At either edge.
  case onBothSides
}

/// Where a range stands in its group: the rows before, in and after it. New type: `ViewWindow.Position`.
public typealias YapDatabaseViewRangePosition = ViewWindow.Position

/// The part of a group that a screen shows. New type: `ViewWindow`.
///
/// Lengths and offsets count rows; those that an `Int` does not hold count as the largest that it does. Not for use on
/// two threads at once.
public final class YapDatabaseViewRangeOptions {
  var window: ViewWindow

  init(_ window: ViewWindow) { self.window = window }

  private static func pin(_ pin: YapDatabaseViewPin) -> ViewWindow.Pin { pin == .beginning ? .beginning : .end }

  /// A range of constant length and offset: what comes pushes rows out of it, what goes lets rows in. New call:
  /// `ViewWindow.fixed(_:offset:from:)`.
  public static func fixedRange(
    withLength length: UInt, offset: UInt, from pin: YapDatabaseViewPin
  ) -> YapDatabaseViewRangeOptions {
    YapDatabaseViewRangeOptions(
      .fixed(Int(clamping: length), offset: Int(clamping: offset), from: Self.pin(pin)))
  }

  /// A range that grows and shrinks with the rows in it. New call: `ViewWindow.flexible(_:offset:from:min:max:grow:)`.
  public static func flexibleRange(
    withLength length: UInt, offset: UInt, from pin: YapDatabaseViewPin
  ) -> YapDatabaseViewRangeOptions {
    YapDatabaseViewRangeOptions(
      .flexible(Int(clamping: length), offset: Int(clamping: offset), from: Self.pin(pin)))
  }

  /// The number of rows; of a flexible range, when read back from mappings, the present one. New call:
  /// `ViewWindow.length`.
  public var length: UInt { UInt(max(window.length, 0)) }

  /// The number of rows between the range and the pin; of a flexible range, when read back, the present one. New call:
  /// `ViewWindow.offset`.
  public var offset: UInt { UInt(max(window.offset, 0)) }

  /// The edge that the range is tied to. New call: `ViewWindow.pin`.
  public var pin: YapDatabaseViewPin { window.pin == .beginning ? .beginning : .end }

  /// Whether the length is constant. New call: `ViewWindow.isFlexible`.
  public var isFixedRange: Bool { !window.isFlexible }

  /// Whether the range grows and shrinks. New call: `ViewWindow.isFlexible`.
  public var isFlexibleRange: Bool { window.isFlexible }

  /// The length above which a flexible range does not grow. New call: `ViewWindow.maxLength`.
  public var maxLength: UInt {
    get { UInt(max(window.maxLength, 0)) }
    set { if window.isFlexible { window.maxLength = Int(clamping: newValue) } }
  }

  /// The length below which a flexible range does not fall while the group has the rows. New call:
  /// `ViewWindow.minLength`.
  public var minLength: UInt {
    get { UInt(max(window.minLength, 0)) }
    set { if window.isFlexible { window.minLength = Int(clamping: newValue) } }
  }

  /// At which edges a flexible range grows. New call: `ViewWindow.growth`.
  public var growOptions: YapDatabaseViewGrowOptions {
    get {
      switch window.growth {
      case .both: .onBothSides
      case .pinSide: .pinSide
      case .farSide: .nonPinSide
      default: .inRangeOnly
      }
    }
    set {
      guard window.isFlexible else { return }
      window.growth =
        switch newValue {
        case .pinSide: .pinSide
        case .nonPinSide: .farSide
        case .inRangeOnly: .insideOnly
        case .onBothSides: .both
        }
    }
  }

  /// The same with another length. New call: `ViewWindow.length`, set on a copy.
  public func copy(withNewLength length: UInt) -> YapDatabaseViewRangeOptions {
    copy(withNewLength: length, newOffset: offset)
  }

  /// The same with another offset. New call: `ViewWindow.offset`, set on a copy.
  public func copy(withNewOffset offset: UInt) -> YapDatabaseViewRangeOptions {
    copy(withNewLength: length, newOffset: offset)
  }

  /// The same with another length and offset. New call: `ViewWindow.length` and `ViewWindow.offset`, set on a copy.
  public func copy(withNewLength length: UInt, newOffset offset: UInt) -> YapDatabaseViewRangeOptions {
    var window = window
    (window.length, window.offset) = (Int(clamping: length), Int(clamping: offset))
    if !window.isFlexible { window.maxLength = window.length }
    return YapDatabaseViewRangeOptions(window)
  }
}
