// The steps of a life as values, so that some can be left out.

import QuireTesting

/// A step: what is done, from a seed of its own, and what becomes of the disk meanwhile.
struct RowStep: Sendable, CustomStringConvertible {
  enum Action: String, CaseIterable, Sendable {
    case transact, fill, clear, checkpoint, flush, begin, reopen, upgrade
    case register, unregister, backup, compact, rewrite
    case check, kill, powerCut
  }

  let action: Action
  let seed: UInt64
  /// The power goes off before this change of the disk, counted from the step's beginning.
  let cutAfter: Int?
  /// The same in the opening after the crash.
  let cutOpeningAfter: Int?

  /// Draws a step; most are transactions.
  static func draw(_ random: inout SeededRandom) -> RowStep {
    let rare: [Action] = [
      .fill, .clear, .checkpoint, .flush, .begin, .begin, .reopen, .upgrade, .register, .register, .register,
      .unregister, .backup, .backup, .compact, .rewrite, .check, .kill, .powerCut,
    ]
    let action = random.oneIn(2) ? .transact : random.pick(rare)
    return RowStep(
      action: action, seed: random.next(), cutAfter: random.oneIn(5) ? random.below(random.pick([6, 60, 300])) : nil,
      cutOpeningAfter: random.oneIn(2) ? random.below(random.pick([6, 40, 200])) : nil)
  }

  /// The steps of a life; the same ones for the same seed.
  static func life(seed: UInt64, count: Int) -> [RowStep] {
    var random = SeededRandom(seed: seed)
    return (0..<count).map { _ in draw(&random) }
  }

  var description: String {
    let cut = cutAfter.map { ", power off before change \($0)" } ?? ""
    return "\(action.rawValue) from \(seed)\(cut)\(cutOpeningAfter.map { ", \($0) of the opening after it" } ?? "")"
  }
}
