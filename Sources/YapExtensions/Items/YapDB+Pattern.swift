// How an app says what the items of a type are stored as.

public import Foundation

extension YapDB {
  /// How the items of a type, or their metadata, are stored.
  public struct Pattern: Sendable {
    let half: any StoredHalf

    /// Objects that archive themselves.
    public static func object<Value: NSCoding & SendableMetatype>(_ type: Value.Type) -> Pattern {
      Pattern(half: ObjectHalf<Value>())
    }

    /// Values that a class archives.
    public static func value<Value: ValueCoding>(_ type: Value.Type) -> Pattern
    where Value.Coder: NSCoding, Value.Coder.ValueType == Value {
      Pattern(half: ValueHalf<Value>())
    }

    /// Values that are stored as they are.
    public static func codable<Value: Codable & Sendable>(_ type: Value.Type) -> Pattern {
      Pattern(half: CodableHalf<Value>())
    }

    /// Nothing is stored.
    public static var none: Pattern { Pattern(half: NoHalf()) }
  }
}
