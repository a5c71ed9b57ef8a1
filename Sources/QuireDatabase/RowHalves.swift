// The halves of a row, as far as changes and reads tell them apart.

/// Which halves of a row a question, a change or a read is about.
public struct RowHalves: OptionSet, Hashable, Sendable {
  /// One bit for each half.
  public let rawValue: UInt8
  /// Wraps bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The object.
  public static let object = RowHalves(rawValue: 1)
  /// The metadata.
  public static let metadata = RowHalves(rawValue: 2)
  /// Either of them.
  public static let any: RowHalves = [.object, .metadata]
}
