// Jobs that callers have run on the engine's threads.

extension BackgroundThreads {
  /// Work for a thread.
  package typealias Job = @Sendable () -> Void

  /// Runs `job` on one of the threads that read for async callers.
  ///
  /// - Throws: `closed`, and `limitReached` if the system gives no thread; so do all of these.
  package func runReader(_ job: @escaping Job) throws(StorageError) { try admit(readerThreads.enqueue(job)) }

  /// Runs `job` on the thread that writes for async callers.
  package func runWriter(_ job: @escaping Job) throws(StorageError) {
    try admit(prepareFlush())
    try admit(writerThread.enqueue(job))
  }

  /// Runs `job` on one of the threads for what takes long, where it delays no reader.
  package func runLongWork(_ job: @escaping Job) throws(StorageError) {
    try admit(longWorkThreads.enqueue(job))
  }

  /// Runs `job`, which waits for the disk, on one of the threads for that.
  package func runWaiting(_ job: @escaping Job) throws(StorageError) { try admit(waitingThreads.enqueue(job)) }

  /// Makes sure that `runDelivery` will have a thread.
  package func prepareDelivery() throws(StorageError) { try admit(deliveryThread.prepare()) }

  /// Runs `job` on the thread that acknowledges async commits: nothing that may take its time.
  package func runDelivery(_ job: @escaping Job) throws(StorageError) {
    try admit(deliveryThread.enqueue(job))
  }

  /// Runs `job` on the thread that looks at commits for observers.
  package func runLook(_ job: @escaping Job) throws(StorageError) { try admit(lookThread.enqueue(job)) }

  /// Runs `job` on the thread for what apps want done after async commits; one job after the other.
  package func runAction(_ job: @escaping Job) throws(StorageError) { try admit(actionThread.enqueue(job)) }

  private func admit(_ admission: ThreadPool.Admission) throws(StorageError) {
    switch admission {
    case .queued: return
    case .stopped: throw openFlag.closedError(path)
    case .lacksThread(let error):
      throw StorageError(
        .limitReached,
        """
        The system gives no thread, and nothing has been done. End threads of the process, or raise its limit, and \
        try again; calls that block their caller need none.
        """, path: path, systemError: error)
    }
  }
}
