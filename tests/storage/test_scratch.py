import gc
import warnings

from otherwords.storage.files import Scratch


def test_it_holds_more_than_memory_should_and_goes_in_silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        book = Scratch()
        book.execute("create table t (x text)")
        book.executemany("insert into t values (?)", ((str(i) * 100,) for i in range(10_000)))
        assert book.execute("select count(*) from t").fetchone() == (10_000,)
        del book
        gc.collect()
