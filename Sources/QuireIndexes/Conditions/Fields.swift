// The fields of rows, as conditions are written with them.

/// The fields of the rows of a collection: `$0` in `find { $0.year == 1990 }`.
///
/// Each member of the object is one, by its key path, and `metadata` has those of the metadata.
@dynamicMemberLookup public struct Fields<Object: Sendable, Metadata: Sendable>: Sendable {
  /// All of them.
  public init() {}

  /// A field of the object.
  public subscript<Value>(
    dynamicMember path: any KeyPath<Object, Value> & Sendable
  ) -> Term<Object, Metadata, Object, Value> {
    Term(path, isMetadata: false)
  }

  /// A field of the object, for those whose name is another one's here.
  public subscript<Value>(_ path: any KeyPath<Object, Value> & Sendable) -> Term<Object, Metadata, Object, Value> {
    Term(path, isMetadata: false)
  }

  /// The fields of the metadata.
  public var metadata: MetadataFields<Object, Metadata> { MetadataFields() }
}

/// The fields of the metadata: `$0.metadata.plays`.
@dynamicMemberLookup public struct MetadataFields<Object: Sendable, Metadata: Sendable>: Sendable {
  /// A field of the metadata; in a row without metadata it is equal to nothing, and neither below nor above anything.
  public subscript<Value>(
    dynamicMember path: any KeyPath<Metadata, Value> & Sendable
  ) -> Term<Object, Metadata, Metadata, Value> {
    Term(path, isMetadata: true)
  }
}

/// One field, or a field within it: what conditions compare.
@dynamicMemberLookup public struct Term<Object: Sendable, Metadata: Sendable, Half, Value>: Sendable {
  let path: FieldPath<Half, Value>
  let isMetadata: Bool

  init(_ path: any KeyPath<Half, Value> & Sendable, isMetadata: Bool) {
    self.path = FieldPath(path)
    self.isMetadata = isMetadata
  }

  /// A field of the object.
  init(_ path: FieldPath<Half, Value>) { self.init(path, isMetadata: false) }

  private init(_ path: FieldPath<Half, Value>, isMetadata: Bool) {
    self.path = path
    self.isMetadata = isMetadata
  }

  /// A field of the field.
  public subscript<Member>(
    dynamicMember member: any KeyPath<Value, Member> & Sendable
  ) -> Term<Object, Metadata, Half, Member> {
    Term<Object, Metadata, Half, Member>(path.appending(member), isMetadata: isMetadata)
  }
}
