// How one page refers to another.

/// A reference to a page: clean (a page number, what stands on disk) or dirty (the index of a frame, memory only).
///
/// Bit 63 tells the two apart. A page read from disk never carries it: validation refuses the page.
package struct PageReference: Equatable, Sendable, BitwiseCopyable {
  package let rawValue: UInt64

  private static let dirtyBit: UInt64 = 1 << 63

  /// Wraps what a branch cell holds.
  @inline(__always) package init(rawValue: UInt64) { self.rawValue = rawValue }
  /// Refers to a page of the file.
  @inline(__always) package init(_ number: PageNumber) { rawValue = number.rawValue }
  /// Refers to a frame.
  @inline(__always) package init(frame: FrameIndex) { rawValue = Self.dirtyBit | UInt64(frame.rawValue) }

  /// The reference of an empty tree.
  @inline(__always) package static var none: Self { Self(rawValue: 0) }

  /// Whether there is no page: the tree is empty.
  @inline(__always) package var isNone: Bool { rawValue == 0 }
  /// Whether this refers to a frame.
  @inline(__always) package var isDirty: Bool { rawValue & Self.dirtyBit != 0 }
  /// The frame; only for a dirty reference.
  @inline(__always) package var frame: FrameIndex { FrameIndex(UInt32(truncatingIfNeeded: rawValue)) }
  /// The page; only for a clean reference.
  @inline(__always) package var pageNumber: PageNumber { PageNumber(rawValue) }
}

/// The index of an entry in the frame table.
package struct FrameIndex: Hashable, Sendable, BitwiseCopyable {
  package let rawValue: UInt32
  /// Wraps an index; whether there is such an entry is the caller's business.
  @inline(__always) package init(_ rawValue: UInt32) { self.rawValue = rawValue }
}
