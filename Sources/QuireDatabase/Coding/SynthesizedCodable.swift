// The promise by which fields of an object can be read without the object, and objects without their `init(from:)`.

/// A structure whose `Codable` is the one that the compiler writes, and whose coding keys are the names of its
/// properties. One line says so:
///
/// ```swift
/// extension Song: SynthesizedCodable {}
/// ```
///
/// A condition is written with key paths, and a key path does not tell under which key a property is stored, nor
/// whether it is stored at all. Of a type that promises it, a query that no index answers reads the fields that its
/// condition names out of the stored rows and decodes nothing else, which takes a fraction of the time. Results are the
/// same.
///
/// Objects of such a type are decoded in less than half of the time, too, if most properties are texts, numbers, dates
/// and the like: each stored property is put where it belongs in memory, as it stands in the row, and `init(from:)` is
/// not called. That is so for structures of up to 64 properties and 2 KiB of their own, none of them with a wrapper,
/// called with a `_` in front, or an object of a class, in ``RowCoder/binary``. Others, and rows that are not plainly
/// as the type writes them today, such as those of an older version with other fields, are decoded by `init(from:)`.
///
/// The promise is this:
///
/// - neither `init(from:)` nor `encode(to:)` is written by hand;
/// - there is no `CodingKeys`, or one in which each key is called as its property;
/// - no constant has a value of its own, as in `let kind = 3`: such a property is written, and never read;
/// - the program has no `decode(_:forKey:)` or `decodeIfPresent(_:forKey:)` of its own for `KeyedDecodingContainer` and
///   the type of a property without a wrapper, which the compiler would call instead of the standard one.
///
/// Properties with a wrapper (`@Defaulted` among them) or an observer, and computed ones, may be there. Conditions on
/// these decode the row whole, as they do for a type without the promise; so do conditions on fields of a field whose
/// type is not marked as well, on what is neither a structure nor a `SortKey`, on an optional of which no row of the
/// collection has had a value yet, and in a program that was built without reflection metadata. Rows that were written
/// by another coder than ``RowCoder/binary``, or by an older version of it from before an upgrade, are decoded whole
/// one by one.
///
/// It is checked in use: the first rows of each scan, and then one of 61 and ever fewer up to one of a thousand, are
/// decoded whole as well, and if a field differs, the query throws `decodingFailed` with the type, the field and the
/// remedy. So are the first eight objects of a collection that a coder's memory decodes, and then one of 1,009: what
/// differs in the first ones is left to `init(from:)`, and what differs later is an error of the same code, as objects
/// before it may be wrong. For such a row an `init(from:)` of a property's type is called twice. What is read between
/// such rows relies on the promise. A row that does not decode whole may pass unnoticed where the fields that are asked
/// for do.
public protocol SynthesizedCodable: Codable {}
