// Which types are stored in which way.

public import Foundation

// MARK: - Items

extension Persistable where Self: NSCoding {
  /// Items are archived.
  public static var itemPattern: YapDB.Pattern { .object(Self.self) }
}

extension Persistable where Self: ValueCoding, Self.Coder: NSCoding, Self.Coder.ValueType == Self {
  /// Items are archived in their coders.
  public static var itemPattern: YapDB.Pattern { .value(Self.self) }
}

extension Persistable where Self: Codable & Sendable {
  /// Items are stored as they are.
  public static var itemPattern: YapDB.Pattern { .codable(Self.self) }
}

extension Persistable where Self: Codable & Sendable & NSCoding {
  /// Items are archived.
  public static var itemPattern: YapDB.Pattern { .object(Self.self) }
}

extension Persistable where Self: Codable & Sendable & ValueCoding, Self.Coder: NSCoding, Self.Coder.ValueType == Self {
  /// Items are archived in their coders.
  public static var itemPattern: YapDB.Pattern { .value(Self.self) }
}

// MARK: - Metadata

extension Persistable where MetadataType == Void {
  /// There are no metadata.
  public static var metadataPattern: YapDB.Pattern { .none }
}

extension Persistable where MetadataType: NSCoding & SendableMetatype {
  /// Metadata are archived.
  public static var metadataPattern: YapDB.Pattern { .object(MetadataType.self) }
}

extension Persistable
where MetadataType: ValueCoding, MetadataType.Coder: NSCoding, MetadataType.Coder.ValueType == MetadataType {
  /// Metadata are archived in their coders.
  public static var metadataPattern: YapDB.Pattern { .value(MetadataType.self) }
}

extension Persistable where MetadataType: Codable & Sendable {
  /// Metadata are stored as they are.
  public static var metadataPattern: YapDB.Pattern { .codable(MetadataType.self) }
}

extension Persistable where MetadataType: Codable & Sendable & NSCoding {
  /// Metadata are archived.
  public static var metadataPattern: YapDB.Pattern { .object(MetadataType.self) }
}

extension Persistable
where
  MetadataType: Codable & Sendable & ValueCoding,
  MetadataType.Coder: NSCoding,
  MetadataType.Coder.ValueType == MetadataType
{
  /// Metadata are archived in their coders.
  public static var metadataPattern: YapDB.Pattern { .value(MetadataType.self) }
}
