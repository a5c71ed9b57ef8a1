// How much the tests do: a small part of their work each time, and all of it where somebody asks for that.

internal import Foundation

/// How much of their work the long tests do.
///
/// In the short size, which is the usual one, they make a few of their trials, of every kind some, and the slow tests
/// are left out: those that need most of a second of a processor all the same. These run where the environment says
/// `QUIRE_TESTS=gate`, as the gate does, and where tests are asked for by name. Where it says `QUIRE_TESTS=full`, all
/// make all of their trials. A variable for one suite, such as `QUIRE_TRIALS`, wins over all.
package enum TestSize {
  private static let named = ProcessInfo.processInfo.environment["QUIRE_TESTS"]

  /// Whether the environment says `QUIRE_TESTS=full`.
  package static let isFull = named == "full"

  /// Whether slow tests run.
  package static let hasSlowTests = isFull || named == "gate" || CommandLine.arguments.contains("--filter")

  /// How many trials a test makes: all of `count` in the full size, else one of `divisor`, but no fewer than `least`.
  package static func trials(_ count: Int, divisor: Int = 8, least: Int = 1) -> Int {
    isFull ? count : min(count, max(least, count / divisor))
  }

  /// The cases of a test: all in the full size, else `most` of them in equal distances, the first and the last one
  /// among them; the first one alone if `most` is 1.
  package static func some<Cases: RandomAccessCollection>(_ all: Cases, of most: Int) -> [Cases.Element] {
    let count = all.count
    if isFull || count <= most { return Array(all) }
    return (0..<most).map { number in
      all[all.index(all.startIndex, offsetBy: most == 1 ? 0 : number * (count - 1) / (most - 1))]
    }
  }

  /// All cases, `some` of them first, and how many these are: for a test that goes on until all has happened that it
  /// expects. In the full size that is how many cases there are.
  package static func someFirst<Case>(_ all: [Case], of most: Int) -> (cases: [Case], least: Int) {
    let first = some(all.indices, of: most)
    let rest = Set(all.indices).subtracting(first).sorted()
    return ((first + rest).map { all[$0] }, first.count)
  }
}
