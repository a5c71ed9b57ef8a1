// Which rows an extension hears of.

/// The collections that an extension cares for.
public struct CollectionFilter: Sendable {
  /// What can be stored of it.
  enum Stored: Hashable, Sendable {
    /// Every collection, or those that a closure knows.
    case any
    case only(Set<ByteString>)
    case except(Set<ByteString>)

    func contains(_ collection: ByteString) -> Bool {
      switch self {
      case .any: true
      case .only(let names): names.contains(collection)
      case .except(let names): !names.contains(collection)
      }
    }

    /// Whether it speaks of the collection.
    func names(_ collection: String) -> Bool {
      switch self {
      case .any: false
      case .only(let names), .except(let names): names.contains(ByteString(collection))
      }
    }

    /// The same for collections that have got other names.
    func renamed(_ rename: (String) -> String) -> Self {
      func renamed(_ names: Set<ByteString>) -> Set<ByteString> { Set(names.map { ByteString(rename($0.string)) }) }
      return switch self {
      case .any: .any
      case .only(let names): .only(renamed(names))
      case .except(let names): .except(renamed(names))
      }
    }
  }

  private let isIncluded: @Sendable (String) -> Bool
  let stored: Stored
  /// Whether it is known to let every collection through.
  private let isAll: Bool
  /// Whether its closure alone knows which collections it lets through.
  var asksClosure: Bool { stored == .any && !isAll }

  /// The collections for whose names `isIncluded` is true. Ask for the same ones as long as the version of the
  /// extension stays the same. While the extension is not registered nobody can ask the closure: a change in any
  /// collection makes it stale.
  public static func matching(_ isIncluded: @escaping @Sendable (String) -> Bool) -> Self {
    Self(stored: .any, isIncluded)
  }

  /// Every collection.
  public static var all: Self { Self(stored: .any, isAll: true) { _ in true } }

  /// These and no others.
  public static func only(_ names: some Sequence<String>) -> Self {
    let names = Set(names.map(ByteString.init))
    return Self(stored: .only(names)) { names.contains(ByteString($0)) }
  }

  /// All but these.
  public static func except(_ names: some Sequence<String>) -> Self {
    let names = Set(names.map(ByteString.init))
    return Self(stored: .except(names)) { !names.contains(ByteString($0)) }
  }

  private init(stored: Stored, isAll: Bool = false, _ isIncluded: @escaping @Sendable (String) -> Bool) {
    self.stored = stored
    self.isAll = isAll
    self.isIncluded = isIncluded
  }

  /// Those of these collections that `other` lets through as well. Names that both know stay known.
  public func intersection(_ other: CollectionFilter) -> Self {
    if other.isAll { return self }
    if isAll { return other }
    switch (stored, other.stored) {
    case (.only(let names), _): return .only(names.map(\.string).filter(other.contains))
    case (_, .only(let names)): return .only(names.map(\.string).filter(contains))
    case (.except(let names), .except(let others)): return .except(names.union(others).map(\.string))
    default: return .matching { contains($0) && other.contains($0) }
    }
  }

  /// Whether the collection is one of them. Names are the same if their bytes are.
  public func contains(_ collection: String) -> Bool { isIncluded(collection) }
}

/// The halves of a row that an extension reads.
public struct ChangedHalves: OptionSet, Hashable, Sendable {
  /// One bit for each half, stored or touched.
  public let rawValue: UInt8
  /// Wraps bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The object, when it is stored or touched.
  public static let object: ChangedHalves = [.storedObject, .touchedObject]
  /// The metadata, when they are stored or touched.
  public static let metadata: ChangedHalves = [.storedMetadata, .touchedMetadata]

  /// The object, when it is stored, and not when it is touched.
  public static let storedObject = ChangedHalves(rawValue: 1)
  /// The metadata, when they are stored or taken away, and not when they are touched.
  public static let storedMetadata = ChangedHalves(rawValue: 2)
  /// The object, when it is touched, and not when it is stored.
  public static let touchedObject = ChangedHalves(rawValue: 4)
  /// The metadata, when they are touched, and not when they are stored.
  public static let touchedMetadata = ChangedHalves(rawValue: 8)
}
