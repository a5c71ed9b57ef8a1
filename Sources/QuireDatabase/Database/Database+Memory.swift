// Memory that is kept to make reading faster, given back.

extension Database {
  /// What is kept in memory beside pages, to be read or written again faster.
  public struct MemoryKinds: OptionSet, Hashable, Sendable {
    /// One bit for each.
    public let rawValue: Int
    /// Wraps bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Decoded objects; see `Options.objectCache`.
    public static let objects = MemoryKinds(rawValue: 1)
    /// What transactions leave for the next ones: buffers for rows, and what coders know of types.
    public static let buffers = MemoryKinds(rawValue: 2)
    /// All of it.
    public static let all: MemoryKinds = [.objects, .buffers]
  }

  /// Gives memory back that is kept to make reading faster, after a warning of the system's for example. Nothing is
  /// lost; what is in use by transactions stays with them. Pages have a budget of their own, `Options.cacheSize`, and
  /// stay.
  ///
  /// Waits for nobody but for single reads of cached objects. O(what is kept).
  public func flushMemory(_ parts: MemoryKinds = .all) {
    if parts.contains(.objects) { core.objectCache?.removeAll() }
    if parts.contains(.buffers) { core.releaseBuffers() }
  }

  /// What the cache of objects does; nil if there is none. Costs a few dozen locks.
  public var objectCacheStatistics: ObjectCacheStatistics? { core.objectCache?.statistics }
}
