// What a history draws from its seed.

internal import QuireStorage
internal import Synchronization

/// The dice of a history: each part of it draws from the same sequence, keys and values from sequences of their own.
///
/// Invariant: the same seed, manner and questions give the same answers.
final class TortureRandom {
  private let configuration: TortureConfiguration
  private var numbers: SeededRandom
  private var bytePicker: KeyPicker
  private var integerPicker: KeyPicker
  private var values: ValueGenerator
  private var longRandom: SeededRandom
  /// The engine draws from here.
  let engine: SharedRandom
  /// For failures at chosen places; apart from the rest, as the decoder's dice.
  var places: SeededRandom
  /// Decides when the decoder is asked; apart from the rest, so that histories do not depend on it.
  var decoder: SeededRandom

  init(_ configuration: TortureConfiguration, _ source: SeededRandom) {
    self.configuration = configuration
    var random = source
    engine = SharedRandom(seed: random.next())
    let keyLimit = min(64, Limits.keyByteCount(pageSize: configuration.pageSize))
    let shapes: [KeyUniverse.Shape] = [.scattered, .sharedPrefix, .mixedLengths]
    let bytes = KeyUniverse(
      count: configuration.keyCount, shape: random.pick(shapes), maximumLength: keyLimit, seed: random.next())
    let integers = KeyUniverse(
      count: configuration.keyCount, shape: random.pick([.integers, .consecutive]), seed: random.next())
    bytePicker = KeyPicker(bytes, seed: random.next())
    integerPicker = KeyPicker(integers, seed: random.next())
    let valueSeed = random.next()
    values = ValueGenerator(configuration.valueSizes, seed: valueSeed)
    longRandom = SeededRandom(seed: valueSeed ^ 0x1095_0a1e)
    decoder = SeededRandom(seed: valueSeed ^ 0xdec0_dec0)
    places = SeededRandom(seed: valueSeed ^ 0x91ac_e5ed)
    numbers = random
  }

  // MARK: Numbers

  func next() -> UInt64 { numbers.next() }
  func below(_ bound: Int) -> Int { numbers.below(bound) }
  func oneIn(_ count: Int) -> Bool { numbers.oneIn(count) }
  func pick<Element>(_ elements: [Element]) -> Element { numbers.pick(elements) }

  // MARK: Keys and values

  /// A key for a tree of this kind.
  func nextKey(_ kind: KeyKind) -> [UInt8] { kind == .int64 ? integerPicker.next() : bytePicker.next() }

  /// A range of keys.
  func nextRange(_ kind: KeyKind) -> ModelRange {
    kind == .int64 ? integerPicker.nextRange() : bytePicker.nextRange()
  }

  /// A value that fits a page beside `key`, or one that is too long for that.
  func nextValue(beside key: [UInt8]) -> [UInt8] {
    if configuration.longValueOneIn > 0, longRandom.oneIn(configuration.longValueOneIn) { return nextLongValue() }
    let limit = Limits.entryByteCount(pageSize: configuration.pageSize) - key.count
    return Array(values.next().prefix(max(0, limit)))
  }

  /// Half of them of few lengths, so that they take each other's places.
  private func nextLongValue() -> [UInt8] {
    let (page, longest) = (configuration.pageSize, configuration.longestValue)
    let count =
      longRandom.oneIn(2)
      ? longRandom.pick([page / 2, page, page + 1, 2 * page, longest]) : page / 3 + longRandom.below(longest)
    let start = longRandom.next()
    // Different at every place and quick to make.
    return (0..<count).map { UInt8(truncatingIfNeeded: (start &+ UInt64($0)) &* 0x9e37_79b9_7f4a_7c15 >> 56) }
  }

  // MARK: What to do

  /// A plan of the usual size.
  func nextPlan(isAborted: Bool = false) -> TransactionPlan {
    let longest = configuration.transactionLength
    return TransactionPlan(
      changes: longest == 1 ? 1 : 1 + below(longest), isAborted: isAborted,
      allocatesRowIDs: oneIn(4))
  }

  /// The next operation, by the weights of the configuration.
  func nextOperation() -> TortureOperation {
    var drawn = below(configuration.weights.reduce(0, +))
    for operation in TortureOperation.allCases {
      drawn -= configuration[operation]
      if drawn < 0 { return operation }
    }
    return .commitAndWait
  }
}
