// A field that rows are sorted by.

public import QuireDatabase

/// A field of objects, and a direction: a part of the order of a view's rows.
public struct SortField<Object: Sendable>: Sendable {
  let path: any PartialKeyPath<Object> & Sendable
  let isDescending: Bool
  /// Appends what the field of an object adds to its sort key.
  let append: @Sendable (Object, inout [UInt8]) -> Void

  private init(
    _ path: any PartialKeyPath<Object> & Sendable, isDescending: Bool,
    append: @escaping @Sendable (Object, inout [UInt8]) -> Void
  ) {
    (self.path, self.isDescending, self.append) = (path, isDescending, append)
  }

  /// The least first.
  public static func ascending<Value: SortKey>(_ path: any KeyPath<Object, Value> & Sendable) -> Self {
    Self(path, isDescending: false) { object, bytes in object[keyPath: path].append(to: &bytes) }
  }

  /// The greatest first.
  public static func descending<Value: SortKey>(_ path: any KeyPath<Object, Value> & Sendable) -> Self {
    Self(path, isDescending: true) { object, bytes in Descending(object[keyPath: path]).append(to: &bytes) }
  }
}
