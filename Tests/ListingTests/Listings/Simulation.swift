// The listings of what this package's tests are made with: of `HeldCall`, `ReferenceModel` and
// `TortureHistory`.

import QuireStorage
import QuireTesting

enum SimulationListings {
  static func hold(_ disk: SimulatedDisk) -> Bool {
    let sync = disk.hold(.synchronize, of: "/db-log0")
    let isInFlight = sync.awaitCall()  // the sync of a thread that commits is in flight
    sync.release()  // it succeeds, after all that was done meanwhile
    return isInFlight
  }

  static func commit(_ model: inout ReferenceModel, _ key: [UInt8], _ value: [UInt8], _ tree: TreeID) {
    var draft = model.newest
    draft.put(key, value, in: tree)
    model.append(draft, as: CSN(7))  // the commit was appended
    model.acknowledge(CSN(7))  // and is durable: no recovery may come back without it
  }

  static func torture() {
    let report = TortureHistory(seed: 42).run()
    _ = report
  }
}
