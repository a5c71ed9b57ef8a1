// Types that know where their rows are, and carry their metadata.

/// A string that identifies an item.
public typealias Identifier = String

/// A type whose values have an identifier.
public protocol Identifiable {
  /// The type of the identifier; its description is the row's key.
  associatedtype IdentifierType: CustomStringConvertible
  /// What tells the value from all others of its type.
  var identifier: IdentifierType { get }
}

/// A type whose values are rows of one collection, each under its identifier, and carry their metadata.
///
/// ```swift
/// struct Product: Persistable {
///   static let collection = "products"
///   var identifier: Identifier
///   var name: String
///   var barcode: Barcode
///   var metadata: Shelf?
/// }
/// ```
///
/// Items are stored in one of three ways, and their metadata, too: as objects that are `NSCoding`, as values that are
/// `ValueCoding`, or as `Codable` and `Sendable` values. Of a type that is more than one of these, the first in this
/// order counts. ``itemPattern`` and ``metadataPattern`` are what the compiler asks for if a type is none of them.
///
/// The collection is told of with `database.register(Product.self)`, once after opening. Quire's own:
/// `QuireDatabase.Persistable`.
public protocol Persistable: Identifiable, SendableMetatype {
  /// The type of the metadata: none, if the type has no property for them.
  associatedtype MetadataType = Void
  /// The name of the collection.
  static var collection: String { get }
  /// The row's metadata: set when an item is read, and written with it unless they are nil. Nil leaves those that the
  /// row has; `replaceMetadata(nil, forKey:inCollection:)` of the transaction takes them away.
  var metadata: MetadataType? { get set }
  /// How items are stored; given by what the type conforms to.
  static var itemPattern: YapDB.Pattern { get }
  /// How metadata are stored; given by what their type conforms to.
  static var metadataPattern: YapDB.Pattern { get }
}

extension Persistable where MetadataType == Void {
  /// No metadata.
  public var metadata: Void? {
    get { nil }
    set {}
  }
}

extension Persistable {
  /// The row's key: the identifier's description.
  public var key: String { identifier.description }

  /// Where the item's row is.
  public var index: YapDB.Index { Self.indexWithKey(key) }

  /// Where the row of a key is.
  public static func indexWithKey(_ key: String) -> YapDB.Index { YapDB.Index(collection: collection, key: key) }

  /// Where the rows of keys are, in their order.
  public static func indexesWithKeys(_ keys: some Sequence<String>) -> [YapDB.Index] { keys.map(indexWithKey) }
}

/// The key of an item.
public func keyForPersistable(_ persistable: some Persistable) -> String { persistable.key }

/// Where an item's row is.
public func indexForPersistable(_ persistable: some Persistable) -> YapDB.Index { persistable.index }
