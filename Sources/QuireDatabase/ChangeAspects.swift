// The halves of a row, as far as changes and reads tell them apart.

/// Which halves of a row a change concerns.
struct ChangeAspects: OptionSet, Hashable, Sendable {
  let rawValue: UInt8
  static let object = ChangeAspects(rawValue: 1)
  static let metadata = ChangeAspects(rawValue: 2)
}
