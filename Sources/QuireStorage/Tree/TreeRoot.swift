// What a snapshot knows of a tree.

/// One tree in one snapshot: where its root is and how much it holds.
package struct TreeRoot {
  package let id: TreeID
  package let keyKind: KeyKind
  /// Whether leaves of the tree may hold references to extents.
  package var mayHaveExtents: Bool
  /// The root page, or `.none` for an empty tree.
  package var reference: PageReference
  /// The root's checksum, if the reference is clean.
  package var checksum: UInt64
  /// The root's level: 0 if it is a leaf.
  package var level: Int
  /// The number of entries.
  package var count: Int

  /// A root; without a reference that of an empty tree.
  package init(
    id: TreeID, keyKind: KeyKind, reference: PageReference = .none, checksum: UInt64 = 0, level: Int = 0,
    count: Int = 0, mayHaveExtents: Bool = false
  ) {
    self.id = id
    self.keyKind = keyKind
    self.reference = reference
    self.checksum = checksum
    self.level = level
    self.count = count
    self.mayHaveExtents = mayHaveExtents
  }
}

/// A value that lies in a page, or the reference to one that stands in an extent: valid until the call that lent it, or
/// the next mutation, is over.
@usableFromInline package struct BorrowedValue {
  @usableFromInline package let base: UnsafeRawPointer
  /// The number of bytes, with the flag of the cell.
  @usableFromInline let lengthField: UInt32

  /// The value, or the reference, of a cell.
  @inline(__always) init(_ cell: LeafCell) {
    base = cell.value
    lengthField = UInt32(cell.lengthField)
  }

  /// The same bytes at another address, or bytes that are no value of a cell.
  @inline(__always) init(base: UnsafeRawPointer, lengthField: UInt32) {
    self.base = base
    self.lengthField = lengthField
  }

  /// How many bytes lie at `base`.
  @inlinable package var count: Int { Int(lengthField & 0x7fff) }
  /// Whether the bytes are a reference to an extent.
  @inlinable package var isExtent: Bool { lengthField & 0x8000 != 0 }
}
