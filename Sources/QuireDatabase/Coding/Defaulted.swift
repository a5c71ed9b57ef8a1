// Fields that rows from before them are read without.

/// A field with a default: a row that does not have it, because it was stored before the field was added, is read with
/// the default, where a plain field would fail to decode. The `= 0` of a plain stored property does not do that: what
/// the compiler makes of `Codable` asks for every field that is not optional.
///
/// ```swift
/// enum FiveStars: DefaultProvider { static let defaultValue = 5 }
///
/// struct Rated: Codable {
///   var title: String
///   @Defaulted<Int> var plays = 0  // the default of Int is 0
///   @Defaulted<[String]> var tags = []
///   @Defaulted<FiveStars> var stars = 5
/// }
/// ```
///
/// The wrapper leaves no trace in what is stored: a field can be given a default, and lose it again, without anything
/// becoming of its rows. That holds for every coder, Foundation's among them. A field that is there but is null (JSON
/// can say that) counts as missing; one that is there with a value of another type fails as a plain one would.
///
/// Costs what the plain field costs. A value; it can be shared between threads if what it wraps can.
///
/// The guide is <doc:Upgrading>.
@propertyWrapper public struct Defaulted<Provider: DefaultProvider> {
  /// What the field holds.
  public var wrappedValue: Provider.Default

  /// A field with a value; what stands behind the `=` of the property, or what an initialiser is given.
  public init(wrappedValue: Provider.Default) { self.wrappedValue = wrappedValue }
}

/// What a `Defaulted` field is read as where a row does not have it.
///
/// Numbers, `Bool`, `String`, arrays, sets and dictionaries provide zero, false and nothing. For any other value, write
/// a provider.
public protocol DefaultProvider<Default> {
  /// The type of the field.
  associatedtype Default

  /// The default. Asked for once for each row without the field, on the thread that reads the row.
  static var defaultValue: Default { get }
}

extension Defaulted: Sendable where Provider.Default: Sendable {}

extension Defaulted: Equatable where Provider.Default: Equatable {
  public static func == (left: Self, right: Self) -> Bool { left.wrappedValue == right.wrappedValue }
}

extension Defaulted: Hashable where Provider.Default: Hashable {
  public func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue) }
}

// MARK: Coding

extension Defaulted: Encodable where Provider.Default: Encodable {
  /// Writes the value as a plain field would.
  ///
  /// - Throws: what encoding the value throws.
  public func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

extension Defaulted: Decodable where Provider.Default: Decodable {
  /// Reads the value as a plain field would; there has to be one.
  ///
  /// - Throws: what decoding the value throws.
  public init(from decoder: any Decoder) throws { try self.init(wrappedValue: Provider.Default(from: decoder)) }
}

extension KeyedDecodingContainer {
  /// The field with a default, which is the default where the container does not have it. What the compiler writes for
  /// `Codable` calls this instead of the general method, as it is the more special one.
  ///
  /// - Throws: what decoding the value throws, if there is one.
  public func decode<Provider>(
    _ type: Defaulted<Provider>.Type, forKey key: Key
  ) throws -> Defaulted<Provider> where Provider.Default: Decodable {
    Defaulted(wrappedValue: try decodeIfPresent(Provider.Default.self, forKey: key) ?? Provider.defaultValue)
  }
}

extension KeyedEncodingContainer {
  /// The field with a default, stored as a plain one.
  ///
  /// - Throws: what encoding the value throws.
  public mutating func encode<Provider>(
    _ value: Defaulted<Provider>, forKey key: Key
  ) throws where Provider.Default: Encodable {
    try encode(value.wrappedValue, forKey: key)
  }
}

// MARK: Defaults of the standard library's types

extension DefaultProvider where Self: AdditiveArithmetic, Default == Self {
  public static var defaultValue: Self { .zero }
}

extension Int: DefaultProvider {}
extension Int8: DefaultProvider {}
extension Int16: DefaultProvider {}
extension Int32: DefaultProvider {}
extension Int64: DefaultProvider {}
extension UInt: DefaultProvider {}
extension UInt8: DefaultProvider {}
extension UInt16: DefaultProvider {}
extension UInt32: DefaultProvider {}
extension UInt64: DefaultProvider {}
extension Float: DefaultProvider {}
extension Double: DefaultProvider {}

extension Bool: DefaultProvider {
  public static var defaultValue: Bool { false }
}

extension String: DefaultProvider {
  public static var defaultValue: String { "" }
}

extension Array: DefaultProvider {
  public static var defaultValue: [Element] { [] }
}

extension Set: DefaultProvider {
  public static var defaultValue: Set<Element> { [] }
}

extension Dictionary: DefaultProvider {
  public static var defaultValue: [Key: Value] { [:] }
}
