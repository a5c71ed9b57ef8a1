// A field that rows are sorted by.

public import QuireDatabase

/// A field of objects, and a direction: a part of the order of a view's rows.
public struct SortField<Object: Sendable>: Sendable {
  let path: any PartialKeyPath<Object> & Sendable
  let isDescending: Bool
  /// Appends the sort bytes of the field.
  private let appendField: @Sendable (Object, inout [UInt8]) -> Void

  private init<Value: SortKey>(_ path: any KeyPath<Object, Value> & Sendable, isDescending: Bool) {
    self.path = path
    self.isDescending = isDescending
    appendField = { object, bytes in object[keyPath: path].append(to: &bytes) }
  }

  /// The least first.
  public static func ascending<Value: SortKey>(_ path: any KeyPath<Object, Value> & Sendable) -> Self {
    Self(path, isDescending: false)
  }

  /// The greatest first.
  public static func descending<Value: SortKey>(_ path: any KeyPath<Object, Value> & Sendable) -> Self {
    Self(path, isDescending: true)
  }

  /// Appends what the field of an object adds to its sort key.
  func append(_ object: Object, to sortKey: inout [UInt8]) {
    let start = sortKey.count
    appendField(object, &sortKey)
    if isDescending { sortKey.turnAround(from: start) }
  }
}

extension [UInt8] {
  /// Turns the order of the last bytes around.
  mutating func turnAround(from start: Int) { for index in start..<count { self[index] = ~self[index] } }
}
