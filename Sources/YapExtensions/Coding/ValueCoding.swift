// Value types that a class encodes.

public import Foundation

/// A class that can encode and decode a value.
///
/// ```swift
/// final class BarcodeCoder: NSObject, NSCoding, CodingType {
///   let value: Barcode
///   required init(_ value: Barcode) { self.value = value }
///   required init?(coder: NSCoder) {
///     guard let digits = coder.decodeObject(forKey: "digits") as? String else { return nil }
///     value = Barcode(digits: digits)
///   }
///   func encode(with coder: NSCoder) { coder.encode(value.digits, forKey: "digits") }
/// }
/// ```
///
/// On Linux the class stands at the top of its file and is not private: Foundation archives no others there, and ends
/// the process for those that a coder encodes itself.
public protocol CodingType: SendableMetatype {
  /// The type of the value.
  associatedtype ValueType
  /// The value that is encoded, or was decoded.
  var value: ValueType { get }
  /// Wraps a value.
  init(_ value: ValueType)
}

/// A value type with a class that encodes it.
///
/// ```swift
/// extension Barcode: ValueCoding {
///   typealias Coder = BarcodeCoder
/// }
/// ```
///
/// Everything else is there if the class is `NSCoding` and its `ValueType` is the type itself.
public protocol ValueCoding: SendableMetatype {
  /// The class.
  associatedtype Coder: CodingType
}

extension CodingType where Self: NSCoding {
  /// The value in a decoded object; nil if it is none of this class.
  public static func decode(_ object: Any?) -> ValueType? { (object as? Self)?.value }

  /// The values in decoded objects, without those of another class.
  public static func decode<Objects: Sequence>(_ objects: Objects?) -> [ValueType] {
    objects?.compactMap { decode($0 as Any?) } ?? []
  }
}

extension ValueCoding where Coder: NSCoding, Coder.ValueType == Self {
  /// The value in a decoded object; nil if it is none of the coder's class.
  public static func decode(_ object: Any?) -> Self? { Coder.decode(object) }

  /// The values in decoded objects, without those of another class.
  public static func decode<Objects: Sequence>(_ objects: Objects?) -> [Self] { Coder.decode(objects) }

  /// The value in its coder, for `encode(with:)` of another class.
  public var encoded: Coder { Coder(self) }
}

extension Sequence where Element: ValueCoding, Element.Coder: NSCoding, Element.Coder.ValueType == Element {
  /// The values in their coders, for `encode(with:)` of another class.
  public var encoded: [Element.Coder] { map(\.encoded) }
}

extension Sequence where Element: CodingType {
  /// The values in the coders.
  public var values: [Element.ValueType] { map(\.value) }
}
