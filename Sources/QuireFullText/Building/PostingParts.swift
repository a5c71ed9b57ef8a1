// A term's postings, as a collector hands them out.

/// The bytes of a term's postings in a collector, part by part.
struct PostingParts {
  private let arena: ChunkArena
  private var walk: ChunkArena.Walk

  init(_ arena: ChunkArena, _ list: ChunkArena.List) { (self.arena, walk) = (arena, arena.walk(list)) }

  /// The next part, good until something is collected; nil behind the last one.
  mutating func next() -> UnsafeRawBufferPointer? { unsafe arena.next(&walk) }
}
